import { z } from 'zod'
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject } from 'zod-openapi'
import type { Scope } from '../../../domain/api-key.ts'
import type { RefusalCode } from '../../../domain/errors.ts'
import { given } from '../../../domain/given.ts'
import type { IdPrefix } from '../../../domain/identifier.ts'
import { idField } from './fields.ts'
import { type HeaderName, headers } from './headers.ts'
import { type DocumentedCode, refusalResponses } from './refusals.ts'

/** Who may call an operation. */
interface Access {
  /** The credentials, of which one is needed; empty: open to everyone. */
  by: readonly ('key' | 'cookie' | 'token')[]
  /** The scope that the key must have. */
  scope?: Scope
  /** A browser that sends our cookies must call from our own page. */
  ownPage?: boolean
}

/** An answer that is not a refusal. */
interface DocumentedAnswer {
  /** Missing: the answer has no body. */
  schema?: z.ZodType
  description: string
  headers?: readonly HeaderName[]
  type?: string | readonly string[]
  examples?: Record<string, { value: unknown }>
}

/** The facts about an operation that are written by hand; `operations` derives everything else from them. */
interface OperationFacts {
  id: string
  summary: string
  description?: string
  /** Missing: a signed-in person; every method but GET counts as a change, so it must come from our own page. */
  access?: Access
  /** False: calls are not rate-limited. All other operations count calls in a window of a minute. */
  limited?: false
  parameters?: NonNullable<ZodOpenApiOperationObject['requestParams']>
  body?: {
    schema: z.ZodType
    /** Whether the body may be left out altogether. */
    optional?: boolean
    example?: Record<string, unknown>
  }
  answers: Record<string, DocumentedAnswer>
  refusals?: readonly DocumentedCode[]
}

/** Open to everyone, from our own pages. */
export const OWN_PAGE = { by: [], ownPage: true } as const satisfies Access

/** The reasons why a fresh proof can be refused. */
export const PROOF_REFUSALS = [
  'proof_required',
  'challenge_invalid',
  'passkey_refused',
  'authenticator_refused',
  'totp_refused',
  'totp_disabled',
  'totp_locked',
] as const satisfies RefusalCode[]

/** The reasons why the proof that comes with a decision can be refused. */
export const DECISION_PROOF_REFUSALS = [
  'passkey_refused',
  'totp_refused',
  'totp_disabled',
  'totp_locked',
] as const satisfies RefusalCode[]

/** The description that the downloads of all lists share. */
export const AS_FILE =
  'A truncated file has no proper end. In CSV, a cell that a spreadsheet would take for a formula begins with an apostrophe. Two files at a time a person.'

/** The answers and refusals of every list that is downloaded as a file. */
export const FILE = {
  answers: {
    '200': {
      schema: z.string(),
      description: 'The file, as NDJSON or, with `format=csv`, as `text/csv`.',
      type: ['application/x-ndjson', 'text/csv'],
    },
  },
  refusals: ['not_found', 'too_many_waits'],
} as const

type KnownFacts = OperationFacts & { access: Access }

export const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const

type Method = (typeof METHODS)[number]

/**
 * Checks whether the operations at a path refuse query parameters that they do not have. Probes, the key set and the document of
 * the API do not: proxies and monitors often add some, and none could mean anything there.
 */
export function refusesUnknown(path: string): boolean {
  return path.startsWith('/api/')
}

/** Builds the operations under one heading of the document, by method and path. */
export function operations(
  tag: string,
  table: Record<`${Method} /${string}`, OperationFacts>,
): ZodOpenApiPathsObject {
  const paths: ZodOpenApiPathsObject = {}
  for (const [route, facts] of Object.entries(table)) {
    const [method = '', path = ''] = route.split(' ')
    const access: Access = { by: ['cookie', 'token'], ownPage: method !== 'get' }
    paths[path] = { ...paths[path], [method]: operation(tag, path, { access, ...facts }) }
  }
  return paths
}

/** Builds one operation: its security, headers and refusals follow from its access and its body. */
function operation(tag: string, path: string, facts: KnownFacts): ZodOpenApiOperationObject {
  const { id: operationId, summary, description, access, parameters: requestParams, body } = facts
  return {
    operationId,
    tags: [tag],
    summary,
    ...given({ description }),
    security: securityOf(access),
    ...given({ requestParams, requestBody: body && requestBodyOf(body) }),
    responses: { ...answersOf(facts), ...refusalResponses(refusalsOf(path, facts)) },
  }
}

function requestBodyOf({ schema, optional, example }: NonNullable<OperationFacts['body']>) {
  return { required: optional !== true, content: { 'application/json': { schema, ...given({ example }) } } }
}

function answersOf(facts: OperationFacts) {
  const entries = Object.entries(facts.answers).map(([status, answer]) => {
    const names = answer.headers ?? []
    const response = {
      description: answer.description,
      ...(names.length === 0 ? {} : { headers: headers(names) }),
      ...contentOf(answer),
    }
    return [status, response] as const
  })
  return Object.fromEntries(entries)
}

function contentOf({ schema, type = 'application/json', examples }: DocumentedAnswer) {
  const content = { schema, ...(examples && { examples }) }
  return schema === undefined
    ? {}
    : { content: Object.fromEntries([type].flat().map((one) => [one, content])) }
}

function refusalsOf(path: string, facts: KnownFacts): DocumentedCode[] {
  const { body, parameters, access, refusals = [], limited } = facts
  const limit: DocumentedCode[] = limited === false ? [] : ['rate limit exceeded']
  const unknown: DocumentedCode[] = refusesUnknown(path) ? ['invalid_field'] : []
  const input = [...unknown, ...missing(parameters?.query), ...bodyRefusals(body)]
  return [...new Set([...input, ...accessRefusals(access), ...refusals, ...limit])]
}

function bodyRefusals(body: OperationFacts['body']): DocumentedCode[] {
  if (body === undefined) return []
  const form = ['invalid_field', 'invalid_json', 'payload_too_large', 'unsupported_media_type'] as const
  return [...missing(body.schema), ...form]
}

/** Returns the codes for the fields without which the schema refuses its input. */
function missing(schema: unknown): DocumentedCode[] {
  const fields = schema instanceof z.ZodObject ? Object.entries(schema.shape) : []
  return fields.flatMap(([name, field]) =>
    field instanceof z.ZodType && !field.safeParse(undefined).success ? [`${name} required` as const] : [],
  )
}

type Security = NonNullable<ZodOpenApiOperationObject['security']>

/** Returns the `security` of an operation. */
function securityOf({ by, scope }: Access): Security {
  const ways: Record<Access['by'][number], Security> = {
    key: [{ apiKey: scope === undefined ? [] : [scope] }, { internalToken: [], approverEmail: [] }],
    cookie: [{ sessionCookie: [] }],
    token: [{ sessionToken: [] }],
  }
  return by.flatMap((credential) => ways[credential])
}

/** Returns the refusals that follow from the access alone, whatever the operation. */
function accessRefusals({ by, scope, ownPage }: Access): DocumentedCode[] {
  return [
    ...(by.includes('key') ? KEY_REFUSALS : []),
    ...(scope === undefined ? [] : ['insufficient_scope' as const]),
    ...(by.includes('cookie') ? ['not_signed_in' as const] : []),
    ...(ownPage ? ['csrf_refused' as const] : []),
  ]
}

const KEY_REFUSALS = [
  'approver_email_required',
  'approver_email_not_allowed',
  'invalid or missing API key',
  'approver_not_found',
] as const satisfies RefusalCode[]

/** An id in the path of an operation. */
export function idInPath(prefix: IdPrefix, description: string) {
  return z.object({ id: idField(prefix).meta({ description }) })
}
