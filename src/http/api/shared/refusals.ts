import { z } from 'zod'
import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi'
import {
  fieldRequired,
  PASSING,
  REFUSALS,
  type Refusal,
  type RefusalCode,
  type RefusalDetails,
  refusal,
} from '../../../domain/errors.ts'
import { errorAnswer } from './fields.ts'
import { type HeaderName, headers } from './headers.ts'

/** The code of a refusal that an operation can answer with. */
export type DocumentedCode = RefusalCode | `${string} required`

/** The refusals that say when to try again. */
const TIMED: ReadonlySet<string> = new Set([
  ...Object.keys(PASSING),
  ...([
    'rate limit exceeded',
    'remind_rate_limited',
    'quota_exceeded',
    'too_many_pending',
    'too_many_waits',
    'totp_locked',
    'slow_down',
  ] satisfies RefusalCode[]),
])

/** What the examples hold beside code and sentence. */
const DETAILS: Partial<Record<RefusalCode, RefusalDetails>> = {
  invalid_field: { field: 'ttl_seconds', detail: 'must be at least 60' },
  insufficient_scope: { scope: 'approval:create' },
  not_pending: { status: 'expired' },
  not_approved: { status: 'pending' },
  mismatch: { field: 'context' },
  not_logged: { status: 'logged' },
  channel_unreachable: { reason: 'not_in_channel' },
  batch_changed: { ids: ['req_7h3k9m2p5q8r1s4t6v0w2x5y8z'] },
  wrong_matching_code: {
    field: 'code',
    status: 'pending',
    detail: 'You have 2 more tries; if the codes differ, reject.',
  },
  internal_error: { request_id: 'err_7h3k9m2p5q8r1s4t6v0w2x5y8z' },
}

/** What any operation may answer with, too: the store or the service failed. */
const UNFORESEEN = ['internal_error', 'storage_unavailable', 'unavailable'] as const

/** Groups the refusals of an operation into one response per status. Operations with the same codes share the response. */
export function refusalResponses(codes: readonly DocumentedCode[]): ZodOpenApiResponsesObject {
  const byStatus = new Map<number, DocumentedCode[]>()
  for (const code of codes) {
    const { status } = refusalOf(code)
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const ordered = [...byStatus].sort(([a], [b]) => a - b)
  const own = ordered.map(([status, some]) => [String(status), sharedResponse(some)])
  return { ...Object.fromEntries(own), default: unforeseen }
}

const shared = new Map<string, ZodOpenApiResponseObject>()

/** Returns the response of these codes, which becomes a component when a second operation has it. */
function sharedResponse(codes: readonly DocumentedCode[]): ZodOpenApiResponseObject {
  const sorted = [...codes].sort()
  const id = sorted.map(nameOf).join('.')
  const known = shared.get(id)
  if (known !== undefined) return Object.assign(known, { id })
  const response = responseOf(sorted)
  shared.set(id, response)
  return response
}

/** An answer whose `error` is one of exactly these codes, so that generated clients can tell all cases apart. */
function responseOf(codes: readonly DocumentedCode[]): ZodOpenApiResponseObject {
  return {
    description: 'Refused.',
    ...headersOf(codes),
    content: {
      'application/json': {
        schema: z.intersection(errorAnswer, z.object({ error: z.enum(codes) })),
        examples: Object.fromEntries(codes.map((code) => [nameOf(code), exampleOf(code)])),
      },
    },
  }
}

function headersOf(codes: readonly DocumentedCode[]): Pick<ZodOpenApiResponseObject, 'headers'> {
  const [timed] = codes.filter((code) => TIMED.has(code)).map(refusalOf)
  if (timed === undefined) return {}
  return { headers: headers(timed.status === 429 ? LIMITED : ['Retry-After']) }
}

/** The headers of a 429. The rate-limit headers are on every answer of a limited operation; the document says so in its head. */
const LIMITED: readonly HeaderName[] = [
  'Retry-After',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
]

const examples = new Map<string, { id: string; value: Record<string, unknown> }>()

/** Returns the example of a refusal, one for all operations. */
function exampleOf(code: DocumentedCode) {
  const { publicMessage: message, details } = refusalOf(code)
  const known = examples.get(code) ?? { id: nameOf(code), value: { error: code, message, ...details } }
  examples.set(code, known)
  return known
}

function refusalOf(code: DocumentedCode): Refusal {
  if (!isKnown(code)) return fieldRequired(code.replace(/ required$/, ''))
  return refusal(code, { ...DETAILS[code], ...(TIMED.has(code) ? { retry_after: 42 } : {}) })
}

function isKnown(code: string): code is RefusalCode {
  return Object.hasOwn(REFUSALS, code)
}

/** Component names allow no spaces (OpenAPI 3.1, "Components Object"). */
function nameOf(code: string): string {
  return code.replace(/[^A-Za-z0-9._-]+/g, '_')
}

const unforeseen: ZodOpenApiResponseObject = {
  ...responseOf([...UNFORESEEN]),
  id: 'Unforeseen',
  description: 'Unforeseen, with any operation: the store or the service failed.',
}
