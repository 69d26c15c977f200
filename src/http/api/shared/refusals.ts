import { z } from 'zod'
import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi'
import { REFUSALS, type RefusalCode } from '../../../domain/errors.ts'
import { errorAnswer } from './fields.ts'

/** A refusal an operation can give; `with` is what its body adds, as an example. */
export interface DocumentedRefusal {
  code: RefusalCode | `${string} required`
  with?: Record<string, string | number | string[]>
}

/** Refusals that tell when to come back. */
const TIMED: ReadonlySet<string> = new Set([
  'rate limit exceeded',
  'remind_rate_limited',
  'quota_exceeded',
  'too_many_waits',
  'totp_locked',
  'slow_down',
] satisfies RefusalCode[])

/** The refusals of an operation, one response a status, each code with the body it comes in. */
export function refusalResponses(refusals: readonly DocumentedRefusal[]): ZodOpenApiResponsesObject {
  const byStatus = new Map<number, DocumentedRefusal[]>()
  for (const refused of refusals) {
    const status = entryOf(refused.code)[0]
    byStatus.set(status, [...(byStatus.get(status) ?? []), refused])
  }
  const ordered = [...byStatus].sort(([a], [b]) => a - b)
  return Object.fromEntries(ordered.map(([status, some]) => [String(status), sharedResponse(some)]))
}

const shared = new Map<string, ZodOpenApiResponseObject>()

/** A refusal that stands alone and adds nothing of the operation's own is one component for all operations. */
function sharedResponse(refusals: readonly DocumentedRefusal[]): ZodOpenApiResponseObject {
  const [only, ...others] = refusals
  if (only === undefined || others.length > 0 || only.with !== undefined) return responseOf(refusals)
  const response = shared.get(only.code) ?? { ...responseOf(refusals), id: nameOf(only.code) }
  shared.set(only.code, response)
  return response
}

function responseOf(refusals: readonly DocumentedRefusal[]): ZodOpenApiResponseObject {
  const lines = refusals.map(({ code }) => `- \`${code}\`: ${entryOf(code)[1]}`)
  const examples = refusals.map((refused) => [nameOf(refused.code), { value: bodyOf(refused) }])
  return {
    description: lines.join('\n'),
    ...headersOf(refusals),
    content: { 'application/json': { schema: errorAnswer, examples: Object.fromEntries(examples) } },
  }
}

function headersOf(refusals: readonly DocumentedRefusal[]): Pick<ZodOpenApiResponseObject, 'headers'> {
  const names: HeaderName[] = []
  if (refusals.some(({ code }) => TIMED.has(code))) names.push('Retry-After')
  return names.length === 0 ? {} : { headers: headers(names) }
}

function bodyOf({ code, with: more }: DocumentedRefusal): Record<string, unknown> {
  const field = REQUIRED.exec(code)?.[1]
  const wait = TIMED.has(code) ? { retry_after: 42 } : {}
  return { error: code, message: entryOf(code)[1], ...(field ? { field } : {}), ...wait, ...more }
}

const REQUIRED = /^([a-z_]+) required$/

function entryOf(code: DocumentedRefusal['code']): readonly [number, string] {
  const field = REQUIRED.exec(code)?.[1]
  if (field !== undefined) return [400, `Send the field \`${field}\`.`]
  return REFUSALS[knownCode(code)]
}

function knownCode(code: string): RefusalCode {
  if (!isKnown(code)) throw new TypeError(`no such refusal: ${code}`)
  return code
}

function isKnown(code: string): code is RefusalCode {
  return Object.hasOwn(REFUSALS, code)
}

/** Component and example names allow no spaces (OpenAPI 3.1, "Components Object"). */
function nameOf(code: string): string {
  return code.replace(/[^A-Za-z0-9._-]+/g, '_')
}

/** Headers of answers. */
const HEADERS = {
  'X-RateLimit-Limit': z
    .int()
    .meta({ description: 'Requests allowed in a minute.', example: 60, header: { id: 'X-RateLimit-Limit' } }),
  'X-RateLimit-Remaining': z.int().meta({
    description: 'Requests left in this window.',
    example: 59,
    header: { id: 'X-RateLimit-Remaining' },
  }),
  'X-RateLimit-Reset': z.int().meta({
    description: 'When the window ends, Unix time in seconds.',
    example: 1772616660,
    header: { id: 'X-RateLimit-Reset' },
  }),
  'Retry-After': z.int().meta({
    description: 'Seconds to wait; the body says the same.',
    example: 42,
    header: { id: 'Retry-After' },
  }),
  'Idempotency-Replayed': z
    .literal('true')
    .optional()
    .meta({
      description: 'This is the answer to the first request with this `Idempotency-Key`.',
      header: { id: 'Idempotency-Replayed' },
    }),
  'Set-Cookie': z.string().meta({
    description: 'The session cookie (HttpOnly, SameSite=Lax), after enrolment also the device cookie.',
    header: { id: 'Set-Cookie' },
  }),
} as const

export type HeaderName = keyof typeof HEADERS

/** The rate-limit headers, on every answer of a limited operation. */
export const RATE_LIMIT_HEADERS: readonly HeaderName[] = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
]

/** Some headers of an answer as one schema. */
export function headers(names: readonly HeaderName[]) {
  return z.object(Object.fromEntries(names.map((name) => [name, HEADERS[name]])))
}
