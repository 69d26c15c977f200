import { z } from 'zod'
import { MEMBER_ROLES } from '../../../domain/account.ts'
import { REFUSALS } from '../../../domain/errors.ts'
import type { IdPrefix } from '../../../domain/identifier.ts'

/** An id as answers show it: prefix and 26 characters of Crockford base 32. One schema, and one component, for each prefix. */
export function idField(prefix: IdPrefix): z.ZodString {
  const field = ids.get(prefix) ?? describeId(prefix)
  ids.set(prefix, field)
  return field
}

const ids = new Map<IdPrefix, z.ZodString>()

/** The form of an id: prefix and 26 characters of Crockford base 32. */
export function idPattern(prefix: IdPrefix): RegExp {
  return new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`)
}

function describeId(prefix: IdPrefix): z.ZodString {
  return z
    .string()
    .regex(idPattern(prefix))
    .meta({ id: `Id.${prefix}`, example: `${prefix}_7h3k9m2p5q8r1s4t6v0w2x5y8z` })
}

/** 32 bytes in hex: a hash, or a secret. */
export const hexField = z.string().regex(/^[0-9a-f]{64}$/)

/** The format of every time in an answer: ISO 8601, UTC, milliseconds. */
export const timeField = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
  .meta({ id: 'Time', format: 'date-time', example: '2026-03-04T09:30:00.000Z' })

/** The reference by which receipts name a person: never an e-mail address. */
export const approverField = z
  .string()
  .regex(/^[0-9a-f]{16}$/)
  .meta({
    id: 'ApproverReference',
    description: 'Reference of the approver: a keyed hash, the same in every receipt of that person.',
    example: '9f2c4e6a8b0d1f35',
  })

/** The names of people, for answers that otherwise name them by reference. */
export const namesField = z.record(z.string(), z.string()).meta({
  id: 'Names',
  description:
    'Current names of the people of the account, by reference; only for members of the account. Receipts contain references only.',
  example: { '9f2c4e6a8b0d1f35': 'Ana Pereira' },
})

/** The times of an owner's offer to set up sign-in anew. */
export const recoveryTimes = {
  opens_at: timeField.meta({ description: 'From then on the link works.' }),
  expires_at: timeField,
}

export function presentTimes({ opens_at, expires_at }: { opens_at: Date; expires_at: Date }) {
  return { opens_at: opens_at.toISOString(), expires_at: expires_at.toISOString() }
}

/** The role of a person in an account. */
export const roleField = z.enum(['owner', 'approver', 'auditor'])

export const memberRoleField = z.enum(MEMBER_ROLES)

const AAGUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The most models that one policy can name. */
const MOST_MODELS = 50

/** The passkeys that a policy accepts. */
export const authenticatorsField = z
  .union([z.literal('attested'), z.array(z.string().toLowerCase().regex(AAGUID)).min(1).max(MOST_MODELS)], {
    error: `must be attested, or a list of up to ${MOST_MODELS} AAGUIDs`,
  })
  .meta({
    id: 'Authenticators',
    description:
      'Only passkeys whose authenticator proved its model when it was registered, or of these only the listed models, by AAGUID. Codes then do not count. Absent: any passkey.',
  })

export const outcomeField = z.enum(['approved', 'rejected'])

export const methodField = z.enum(['passkey', 'totp', 'sandbox']).meta({
  id: 'Method',
  description: 'How presence was proved; `sandbox`: no person decided.',
})

export const statusField = z.enum(['pending', 'approved', 'rejected', 'expired'])

/** The caller's structured data, as it was sent. */
export const contextField = z.record(z.string(), z.unknown()).meta({
  id: 'Context',
  description: 'The structured data supplied at creation.',
  example: { agent_name: 'billing-bot', reason: 'Invoice 4711 is due' },
})

export const erasedField = timeField.meta({
  description: 'When the texts were erased: `action` is `[erased]`, the receipt remains.',
})

export const sandboxMark = z
  .literal(true)
  .meta({ id: 'SandboxMark', description: 'Only for requests made with a sandbox key.' })

export const actionField = z.string().meta({ example: 'Pay $120.00 to ACME Corp, invoice 4711' })

export const signatureField = z
  .string()
  .regex(/^[A-Za-z0-9+/]{86}==$/)
  .meta({ description: 'Ed25519 signature, standard base64.' })

export const keyIdField = z
  .string()
  .regex(/^[A-Za-z0-9_-]{43}$/)
  .meta({
    id: 'SigningKeyId',
    description: 'Id of the signing key in `/.well-known/jwks.json` (RFC 7638 thumbprint).',
  })

/** The page on which approvers decide. */
export const reviewUrlField = z
  .string()
  .meta({ id: 'ReviewUrl', description: 'The page on which approvers read the request and decide.' })

/** Returns the address of that page. */
export function reviewUrl(baseUrl: string, requestId: string): string {
  return `${baseUrl}/a/${requestId}`
}

export const useWithinField = z
  .int()
  .meta({ id: 'UseWithin', description: 'Seconds from the decision in which an approval can be used.' })

const nextCursorField = z
  .string()
  .nullable()
  .meta({ id: 'NextCursor', description: 'The `cursor` of the next page; null on the last one.' })

/** A list in pages; `next_cursor` is null on the last one. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({
    data: z.array(item),
    next_cursor: nextCursorField,
  })
}

/** How far back a search has looked, on a page of its results. */
export const searchedField = timeField.optional().meta({
  description:
    'A search reads a limited number of entries at a time. If it stopped before the page was full: entries newer than this have been searched, and `next_cursor` continues from there.',
})

/**
 * The type that the presenter of an answer returns. A field that the schema does not list does not compile, so it cannot
 * leak; nor does leaving out a listed field. Optional fields may be undefined, which JSON leaves out.
 */
export type Answer<Schema extends z.ZodType> = z.input<Schema>

type Plain = string | number | boolean | Date | null | undefined | readonly string[]
type Shown<Value> = Value extends Date ? string : Value

/** The fields of the answer that the record has under the same name, in a form that can be copied. */
type Copied<Schema extends z.ZodObject, From> = {
  [Name in keyof Answer<Schema> & keyof From]: From[Name] extends Plain
    ? Shown<From[Name]> extends Answer<Schema>[Name]
      ? Name
      : never
    : never
}[keyof Answer<Schema> & keyof From]

/**
 * Builds an answer about a stored record: only the fields that the schema lists, in its order. Strings, numbers, booleans, lists
 * of strings and times (as text) are copied by name; fields stored in another form must be given, including optional ones.
 * @param own the fields that cannot be copied; they take precedence over copied ones
 */
export function present<Schema extends z.ZodObject, From extends object>(
  schema: Schema,
  from: From,
  own: { [Name in Exclude<keyof Answer<Schema>, Copied<Schema, From>>]: Answer<Schema>[Name] } & {
    [Name in Copied<Schema, From>]?: Answer<Schema>[Name]
  },
): Answer<Schema> {
  const given = new Map<string, unknown>(Object.entries(own))
  const fields = Object.keys(schema.shape).map((name) => [
    name,
    given.has(name) ? given.get(name) : plain(Reflect.get(from, name)),
  ])
  return Object.fromEntries(fields)
}

/** Returns a value that may be copied, times as text. An object becomes null: only a schema of its own may let its fields out. */
function plain(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'object' && !Array.isArray(value) ? null : value
}

/** The names of unknown fields of the body. */
export const ignoredFields = z.array(z.string()).optional().meta({
  id: 'IgnoredFields',
  description:
    'Unknown fields that were sent; absent if there are none. A name that looks like a known field is refused instead.',
})

/** `{"ok": true}`. */
export const okAnswer = z.strictObject({ ok: z.literal(true) }).meta({ id: 'Ok' })

/** All codes of the table, also of operations that are not in the document: one list for `switch` and exhaustiveness. */
export const errorCode = z.enum(Object.keys(REFUSALS)).meta({
  id: 'ErrorCode',
  description:
    'Stable codes to branch on; the examples have their sentences. More may be added: treat an unknown one by its status.',
})

/** Every refusal: a stable code, a sentence, and whatever else the caller can act on. */
export const errorAnswer = z
  .strictObject({
    error: z.string().meta({
      description:
        'Stable code to branch on: one of `ErrorCode`, or `<field> required` for a field that is missing. Each answer lists its own.',
      example: 'not_found',
    }),
    message: z.string().meta({ description: 'For people: what is wrong and what to do. May change.' }),
    field: z
      .string()
      .optional()
      .meta({ description: 'The field that is missing, wrong, or different from the approved one.' }),
    detail: z
      .string()
      .optional()
      .meta({ description: 'The part of `message` that says what is wrong with the field.' }),
    reason: z
      .string()
      .optional()
      .meta({ description: 'With `channel_unreachable`: the code of the chat platform.' }),
    scope: z.string().optional().meta({ description: 'Scope the API key lacks.' }),
    status: z
      .string()
      .optional()
      .meta({ description: 'Status of the request, with `not_pending` and `not_approved`.' }),
    ids: z.array(z.string()).optional().meta({ description: 'The requests that prevent it.' }),
    retry_after: z.int().min(1).optional().meta({ description: 'Seconds to wait; also in `Retry-After`.' }),
    request_id: z.string().optional().meta({ description: 'With `internal_error`: quote it in a report.' }),
  })
  .meta({ id: 'Error', description: 'Every refusal has this form.' })
