import { type ApprovalRequest, contextOf } from './request.ts'

/** By what requests of one API key are alike: they name the same tool or, naming none, have the same fields. */
export type Likeness = { by: 'tool'; tool: string } | { by: 'fields'; fields: string[] }

/** Fields that say nothing about which kind of action is asked for. */
const DESCRIBING: ReadonlySet<string> = new Set([
  'reason',
  'agent_name',
  'agent_purpose',
  'source',
  'risk_arg_findings',
  'tool_arguments_fingerprint',
])

/**
 * Names what a request has in common with others of its kind. A tool counts to the letter: a look-alike name must not inherit the
 * history of the real one.
 * @returns undefined for a request that says nothing but its action and a reason, and for a dry run, which no person decides
 */
export function likenessOf(request: Pick<ApprovalRequest, 'context_json' | 'sandbox'>): Likeness | undefined {
  if (request.sandbox) return undefined
  const context = contextOf(request)
  const { tool, tool_arguments } = context
  if (typeof tool === 'string' && tool !== '') return { by: 'tool', tool }
  const inner = isObject(tool_arguments) ? Object.keys(tool_arguments) : []
  const fields = Object.keys(context).filter((key) => !DESCRIBING.has(key))
  if (fields.length === 0) return undefined
  return { by: 'fields', fields: [...fields.sort(), '', ...inner.sort()] }
}

/** Returns the text that requests of one kind have in common, and no others: of another key they are never alike. */
export function kindOf(
  request: Pick<ApprovalRequest, 'api_key_id' | 'context_json' | 'sandbox'>,
): string | undefined {
  const likeness = likenessOf(request)
  return likeness && JSON.stringify([request.api_key_id, likeness])
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
