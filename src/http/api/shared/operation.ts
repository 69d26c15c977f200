import { z } from 'zod'
import type {
  ZodOpenApiOperationObject,
  ZodOpenApiPathsObject,
  ZodOpenApiResponseObject,
  ZodOpenApiResponsesObject,
} from 'zod-openapi'
import type { Scope } from '../../../domain/api-key.ts'
import { PASSING, REFUSALS, type RefusalCode } from '../../../domain/errors.ts'
import { given } from '../../../domain/given.ts'
import type { IdPrefix } from '../../../domain/identifier.ts'
import { errorAnswer, idField } from './fields.ts'

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
    /** A field without which the body is refused; undefined if there is none. */
    required?: string
    /** A field and what could be wrong with it, as an example. */
    invalid: readonly [field: string, detail: string]
    /** Whether the body may be left out altogether. */
    optional?: boolean
    example?: Record<string, unknown>
  }
  answers: Record<string, DocumentedAnswer>
  refusals?: readonly (RefusalCode | DocumentedRefusal)[]
}

/** Open to everyone, from our own pages. */
export const OWN_PAGE = { by: [], ownPage: true } as const satisfies Access

/** The reasons why a fresh proof can be refused. */
export const PROOF_REFUSALS = [
  'proof_required',
  'challenge_invalid',
  'passkey_refused',
  'passkey_suspended',
  'authenticator_refused',
  'totp_refused',
  'totp_disabled',
  'totp_locked',
] as const satisfies RefusalCode[]

/** The reasons why the proof that comes with a decision can be refused. */
export const DECISION_PROOF_REFUSALS = [
  'passkey_refused',
  'passkey_suspended',
  'totp_refused',
  'totp_disabled',
  'totp_locked',
] as const satisfies RefusalCode[]

/** The refusal of operations that hand out secrets, for a session without a recent proof of presence. */
export const NOT_PROVEN = {
  code: 'proof_required',
  with: { detail: 'This needs a sign-in or a confirmation within the last 15 minutes. …' },
} as const satisfies DocumentedRefusal

/** The refusal for a request that is no longer pending. */
export const NOT_PENDING = {
  code: 'not_pending',
  with: { status: 'expired' },
} as const satisfies DocumentedRefusal

/** The refusal that every list can give. */
export const BAD_LIMIT = {
  code: 'invalid_field',
  with: { field: 'limit', detail: 'must be at most 100' },
} as const satisfies DocumentedRefusal

/** The description that the downloads of all lists share. */
export const AS_FILE =
  'A file that was cut off has no proper end. In CSV, a cell that a spreadsheet would take for a formula begins with an apostrophe. Two files at a time a person.'

/** The answers and refusals of every list that is downloaded as a file. */
export const FILE = {
  answers: {
    '200': {
      schema: z.string(),
      description: 'The file, as NDJSON or, with `format=csv`, as `text/csv`.',
      type: ['application/x-ndjson', 'text/csv'],
    },
  },
  refusals: [
    { code: 'format required' },
    { code: 'invalid_field', with: { field: 'format', detail: 'must be ndjson or csv' } },
    'not_found',
    'too_many_waits',
  ],
} as const

type KnownFacts = OperationFacts & { access: Access }

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

/** Builds the operations under one heading of the document, by method and path. */
export function operations(
  tag: string,
  table: Record<`${Method} /${string}`, OperationFacts>,
): ZodOpenApiPathsObject {
  const paths: ZodOpenApiPathsObject = {}
  for (const [route, facts] of Object.entries(table)) {
    const [method = '', path = ''] = route.split(' ')
    const access: Access = { by: ['cookie', 'token'], ownPage: method !== 'get' }
    paths[path] = { ...paths[path], [method]: operation(tag, { access, ...facts }) }
  }
  return paths
}

/** Builds one operation: its security, headers and refusals follow from its access and its body. */
function operation(tag: string, facts: KnownFacts): ZodOpenApiOperationObject {
  const { id: operationId, summary, description, access, parameters: requestParams, body } = facts
  return {
    operationId,
    tags: [tag],
    summary,
    ...given({ description }),
    security: securityOf(access),
    ...given({ requestParams, requestBody: body && requestBodyOf(body) }),
    responses: { ...answersOf(facts), ...refusalResponses(refusalsOf(facts)), default: UNFORESEEN },
  }
}

function requestBodyOf({ schema, optional, example }: NonNullable<OperationFacts['body']>) {
  return { required: optional !== true, content: { 'application/json': { schema, ...given({ example }) } } }
}

const UNFORESEEN: ZodOpenApiResponseObject = {
  description:
    'Anything unforeseen has the same form: `internal_error` (500) or `storage_damaged` (503); with `Retry-After`, `storage_unavailable` or `unavailable` (503).',
  content: { 'application/json': { schema: errorAnswer } },
}

function answersOf(facts: OperationFacts) {
  const entries = Object.entries(facts.answers).map(([status, answer]) => {
    const names = [...(facts.limited === false ? [] : RATE_LIMIT_HEADERS), ...(answer.headers ?? [])]
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

function refusalsOf(facts: KnownFacts): DocumentedRefusal[] {
  const own = (facts.refusals ?? []).map((entry) => (typeof entry === 'string' ? { code: entry } : entry))
  const limit: DocumentedRefusal[] = facts.limited === false ? [] : [{ code: 'rate limit exceeded' }]
  const all = [...bodyRefusals(facts.body), ...accessRefusals(facts.access), ...own, ...limit]
  return [...new Map(all.map((entry) => [entry.code, entry])).values()]
}

function bodyRefusals(body: OperationFacts['body']): DocumentedRefusal[] {
  if (body === undefined) return []
  const [field, detail] = body.invalid
  return [
    ...(body.required === undefined ? [] : [{ code: `${body.required} required` as const }]),
    { code: 'invalid_field', with: { field, detail } },
    { code: 'invalid_json' },
    { code: 'payload_too_large' },
    { code: 'unsupported_media_type' },
  ]
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
function accessRefusals({ by, scope, ownPage }: Access): DocumentedRefusal[] {
  return [
    ...(by.includes('key') ? KEY_REFUSALS : []),
    ...(scope === undefined ? [] : [{ code: 'insufficient_scope' as const, with: { scope } }]),
    ...(by.includes('cookie') ? [{ code: 'not_signed_in' as const }] : []),
    ...(ownPage ? [{ code: 'csrf_refused' as const }] : []),
  ]
}

const KEY_REFUSALS: readonly DocumentedRefusal[] = [
  { code: 'approver_email_required' },
  { code: 'approver_email_not_allowed' },
  { code: 'invalid or missing API key' },
  { code: 'approver_not_found' },
]

/** An id in the path of an operation. */
export function idInPath(prefix: IdPrefix, description: string) {
  return z.object({ id: idField(prefix).meta({ description }) })
}

/** A refusal an operation can give; `with` is what its body adds, as an example. */
interface DocumentedRefusal {
  code: RefusalCode | `${string} required`
  with?: Record<string, string | number | string[]>
}

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

/** Groups the refusals of an operation into one response per status, with an example body for each code. */
function refusalResponses(refusals: readonly DocumentedRefusal[]): ZodOpenApiResponsesObject {
  const byStatus = new Map<number, DocumentedRefusal[]>()
  for (const refused of refusals) {
    const status = entryOf(refused.code)[0]
    byStatus.set(status, [...(byStatus.get(status) ?? []), refused])
  }
  const ordered = [...byStatus].sort(([a], [b]) => a - b)
  return Object.fromEntries(ordered.map(([status, some]) => [String(status), sharedResponse(some)]))
}

const shared = new Map<string, ZodOpenApiResponseObject>()

/** Returns the response of a status. A single refusal without fields of its operation is a component shared by all operations. */
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
  return refusals.some(({ code }) => TIMED.has(code)) ? { headers: headers(['Retry-After']) } : {}
}

function bodyOf({ code, with: more }: DocumentedRefusal): Record<string, unknown> {
  const field = REQUIRED.exec(code)?.[1]
  const wait = TIMED.has(code) ? { retry_after: 42 } : {}
  return { error: code, message: entryOf(code)[1], ...(field ? { field } : {}), ...wait, ...more }
}

const REQUIRED = /^([a-z_]+) required$/

function entryOf(code: DocumentedRefusal['code']): readonly [number, string] {
  return isKnown(code) ? REFUSALS[code] : [400, `Send the field \`${code.replace(REQUIRED, '$1')}\`.`]
}

function isKnown(code: string): code is RefusalCode {
  return Object.hasOwn(REFUSALS, code)
}

/** Component and example names allow no spaces (OpenAPI 3.1, "Components Object"). */
function nameOf(code: string): string {
  return code.replace(/[^A-Za-z0-9._-]+/g, '_')
}

/** The documented headers of answers. */
const HEADERS = {
  'X-RateLimit-Limit': z.int().meta({
    description: 'Requests allowed in the window; of two limits, the one with less left.',
    example: 60,
    header: { id: 'X-RateLimit-Limit' },
  }),
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

type HeaderName = keyof typeof HEADERS

/** The rate-limit headers, on every answer of a limited operation. */
const RATE_LIMIT_HEADERS: readonly HeaderName[] = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
]

/** Returns a schema of the named headers. */
function headers(names: readonly HeaderName[]) {
  return z.object(Object.fromEntries(names.map((name) => [name, HEADERS[name]])))
}
