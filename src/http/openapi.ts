import { createDocument, type oas31, type ZodOpenApiSecuritySchemeObject } from 'zod-openapi'
import { MOST_PENDING } from '../domain/attention.ts'
import { BOOTSTRAPS_AN_HOUR } from '../domain/bootstrap.ts'
import { given } from '../domain/given.ts'
import { REQUESTS_A_MINUTE } from '../domain/limits.ts'
import { WEBHOOKS } from './api/events.ts'
import { METHODS } from './api/shared/operation.ts'
import { PATHS } from './operations.ts'

/**
 * Builds the OpenAPI 3.1 document from the schemas that check requests and that tests compare answers with.
 * The committed `openapi.json` is its output; `npm run openapi` writes it again.
 */
export function buildOpenApi(version: string): oas31.OpenAPIObject {
  const document = createDocument(
    {
      openapi: '3.1.1',
      info: { title: 'Countersign', version, description: DESCRIPTION, license: LICENSE },
      servers: [{ url: '/', description: 'The service that serves this document' }],
      tags: TAGS,
      paths: PATHS,
      webhooks: WEBHOOKS,
      components: { securitySchemes: SECURITY_SCHEMES },
    },
    { override: simplify },
  )
  for (const item of Object.values({ ...document.paths, ...document.webhooks })) shorten(item)
  return { ...document, components: { ...document.components, parameters: shareParameters(document) } }
}

type Parameter = oas31.ParameterObject | oas31.ReferenceObject

/** Moves each parameter that several operations have to the components. @returns the parameters there, by name */
function shareParameters({ paths, components }: oas31.OpenAPIObject): Record<string, Parameter> {
  const lists = Object.values(paths ?? {}).flatMap((item) =>
    METHODS.flatMap((method) => [item[method]?.parameters ?? []]),
  )
  const uses = new Map<string, number>()
  for (const one of lists.flat()) uses.set(JSON.stringify(one), (uses.get(JSON.stringify(one)) ?? 0) + 1)
  const names = new Map<string, string>()
  const shared: Record<string, Parameter> = { ...components?.parameters }
  for (const list of lists)
    for (const [index, one] of list.entries()) {
      const text = JSON.stringify(one)
      if ('$ref' in one || uses.get(text) === 1) continue
      const name = names.get(text) ?? freeName(shared, one.name)
      names.set(text, name)
      shared[name] = one
      list[index] = { $ref: `#/components/parameters/${name}` }
    }
  return shared
}

function freeName(taken: object, name: string): string {
  let free = name
  for (let n = 2; Object.hasOwn(taken, free); n += 1) free = `${name}.${n}`
  return free
}

/** Says once what a parameter is: zod-openapi says it of the parameter and of its schema. */
function shorten(item: oas31.PathItemObject): void {
  for (const parameter of METHODS.flatMap((method) => item[method]?.parameters ?? [])) {
    if ('$ref' in parameter || parameter.schema === undefined) continue
    const { description, ...schema } = parameter.schema
    Object.assign(parameter, given({ description }), { schema })
  }
}

/**
 * Removes what says nothing (the bounds of a safe integer, that names are texts) and what would do harm: `additionalProperties: false` on answers,
 * since answers may gain fields and a client that refuses unknown fields would break.
 */
function simplify({ jsonSchema, io }: { jsonSchema: Record<string, unknown>; io: 'input' | 'output' }): void {
  if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
  if (io === 'input' && jsonSchema.default !== undefined) {
    // Client generators treat a field with a default as always present, and then require it in requests.
    const said = typeof jsonSchema.description === 'string' ? `${jsonSchema.description} ` : ''
    jsonSchema.description = `${said}If left out: \`${JSON.stringify(jsonSchema.default)}\`.`
    delete jsonSchema.default
  }
  const names = JSON.stringify(jsonSchema.propertyNames)
  if (names === '{"type":"string"}') delete jsonSchema.propertyNames
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
}

const DESCRIPTION = `An application or agent submits an action; a person approves or rejects it with a passkey or a one-time code; the service signs the decision with Ed25519, and anyone can verify the receipt.

Bodies are JSON objects of at most 64 KiB (of a create, 1.5 MiB) with \`Content-Type: application/json\`. Times are ISO 8601 in UTC with milliseconds. Unknown fields of a body, up to 100, are ignored, if their content follows the rules for all JSON here; where that matters the answer names them in \`ignored_fields\`. A name that looks like a known field is refused with \`invalid_field\` and the right name, as is every unknown query parameter under \`/api/\`. Answers may gain fields.

Every refusal is \`{"error", "message"}\`: branch on \`error\`, show \`message\`. Every answer carries \`X-Request-Id\`.

Limits:

| Counted by | What | At most |
|---|---|---|
| API key | calls that create requests, also refused ones | ${REQUESTS_A_MINUTE.create} a minute |
| API key | requests read or waited for | ${REQUESTS_A_MINUTE.read} a minute |
| API key | reminders, cancellations, uses, looks at the callback secret | ${REQUESTS_A_MINUTE.key} a minute |
| Request | reminders | 1 a minute |
| Account and approver | live requests that wait | ${MOST_PENDING} at a time |
| Signed-in person | decisions; looks at and changes of factors; looks at the audit trail and the history; changes of API keys and webhooks | ${REQUESTS_A_MINUTE.person} a minute |
| Signed-in person | exports | ${REQUESTS_A_MINUTE.export} a minute |
| Signed-in person | tests of notifications | ${REQUESTS_A_MINUTE.push_test} a minute |
| Address | verifications | ${REQUESTS_A_MINUTE.verify} a minute |
| Address | attempts to sign in, to enrol or to use a link from chat | ${REQUESTS_A_MINUTE.auth} a minute |
| Address | reads of the log | ${REQUESTS_A_MINUTE.log} a minute |
| Address | bootstraps begun | ${REQUESTS_A_MINUTE.bootstrap} a minute |
| Address | polls of bootstraps | ${REQUESTS_A_MINUTE.poll} a minute |
| E-mail address | bootstraps begun | ${BOOTSTRAPS_AN_HOUR.most} an hour |

All answers of limited operations have \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\` (Unix seconds); beyond the limit they are 429, with \`Retry-After\`.`

const LICENSE = { name: 'MIT', identifier: 'MIT' }

const TAGS = [
  { name: 'Approvals', description: 'For callers: make requests, wait, read.' },
  { name: 'Receipts', description: 'For everyone: verify decisions.' },
  { name: 'Deciding', description: 'For approvers: read requests, approve or reject.' },
  {
    name: 'Bootstrap',
    description:
      'For agents without a key: ask the owner of an account for one. For owners: consent, or refuse.',
  },
  { name: 'Account', description: 'For owners: API keys and callback secrets.' },
  {
    name: 'Members and policy',
    description:
      'For owners: the members of the account, and its policy. For people who are invited: join, decline, leave.',
  },
  {
    name: 'Webhooks',
    description: 'For owners: receivers of the events of the account, and the state of each delivery.',
  },
  {
    name: 'Events',
    description:
      'The calls that this service makes to receivers: callbacks of single requests, and events to the webhooks of the account. The same event can come more than once, always with the same `webhook-id`, and events can arrive in any order.',
  },
  { name: 'Signing in', description: 'Sessions of people.' },
  { name: 'Enrolment', description: 'Signing up by a one-time link.' },
  {
    name: 'Own factors',
    description: 'Passkeys and one-time codes. Every change needs a fresh proof by a factor the person has.',
  },
  { name: 'Own profile', description: 'Name, default expiry, and delegate.' },
  {
    name: 'Chat',
    description:
      'Identities on chat platforms, and channels. They are notified; they never decide and never sign in.',
  },
  {
    name: 'Notifications',
    description: 'Browsers that notify a person of pending requests (Web Push). Deciding needs the page.',
  },
  { name: 'Service', description: 'Health and this document.' },
]

const SECURITY_SCHEMES: Record<string, ZodOpenApiSecuritySchemeObject> = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'sa_live_… or sa_test_…',
    description: 'An API key. Requests of keys that begin with `sa_test_` are dry-runs: no person is asked.',
  },
  internalToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'internal-…',
    description:
      'For trusted services, where the operator has set `INTERNAL_SERVICE_TOKEN`; always together with `X-Approver-Email`.',
  },
  approverEmail: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Approver-Email',
    description: 'With the internal token only: the user in whose account it acts, and who decides.',
  },
  sessionToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description:
      'A session JWT, valid for 15 minutes; signing in and `POST /api/v1/session/refresh` return it.',
  },
  sessionCookie: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-countersign',
    description:
      'Set by signing in (on plain-http development `countersign-<port>`). Requests that change something must be JSON and carry the `Origin` of the service.',
  },
}
