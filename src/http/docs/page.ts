import type { oas31 } from 'zod-openapi'
import { DOCS_SCRIPT_PATH, DOCS_STYLE_PATH, DOCS_THEME_PATH } from './assets.ts'
import { type Html, html, inline, jsonBlock, prose } from './html.ts'
import {
  innerOf,
  inPlace,
  type Media,
  type Named,
  nameOfRef,
  type OpenApi,
  type Placed,
  RECEIVER,
  resolve,
  resolveSchema,
  type SchemaNode,
  type Section,
  sectionsOf,
} from './read-document.ts'

/** Renders the interface as a page, the same for everyone. The build calls this (`scripts/service.vite.config.mjs`). */
export function renderDocs(document: OpenApi): string {
  const openapi = inPlace(document)
  const { title, version, description = '' } = openapi.info
  const sections = sectionsOf(openapi)
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<script src="${DOCS_THEME_PATH}"></script>
<title>${title} API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${DOCS_STYLE_PATH}">
<script defer src="${DOCS_SCRIPT_PATH}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header><div class="bar"><a class="brand" href="#top">${title} <span>API ${version}</span></a><div class="filter" role="search" hidden><label for="filter">Filter</label><input id="filter" type="search" autocomplete="off" spellcheck="false"><p role="status"></p></div><span><a href="/">Dashboard</a> <a href="/openapi.json">openapi.json</a></span></div></header>
<div class="columns" id="top">
<nav class="wide" aria-label="Contents">${contents(sections)}</nav>
<main id="content" tabindex="-1">
<h1>${title} API</h1>
<div class="about">${prose(description)}
${securityView(openapi)}</div>
${sections.map((section) => sectionView(openapi, section))}
${refusalsView(openapi)}
${schemasView(openapi)}
</main>
</div>
</body>
</html>
`
  return page.text
}

function contents(sections: Section[]): Html {
  const parts = [['security', 'Who may call'], ...sections.map(({ id, name }) => [id, name])]
  const all = [...parts, ['refusals', 'Refusals'], ['schemas', 'Schemas']]
  return html`<ul class="contents">${all.map(([id, name]) => html`<li><a href="#${id}">${name}</a></li>`)}</ul>`
}

function securityView(openapi: OpenApi): Html {
  const schemes = Object.entries(openapi.components?.securitySchemes ?? {})
  return html`<section><h2 id="security">Who may call</h2><p>Where an operation does not say it, signed-in people: with the session cookie, or with a session token. Where it asks for an API key, the internal token does, too.</p><dl>${schemes.map(
    ([scheme, { description }]) => html`<dt>${capital(schemeName(scheme))}<dd>${inline(description ?? '')}`,
  )}</dl></section>`
}

function sectionView(openapi: OpenApi, { id, name, description, operations }: Section): Html {
  return html`<section><h2 id="${id}">${name}</h2>${prose(description)}${operations.map((placed) =>
    operationView(
      openapi,
      placed,
      operations.find((one) => alike(one, placed)),
    ),
  )}</section>`
}

/** Checks whether two calls to receivers differ in nothing but their bodies. */
function alike(one: Placed, other: Placed): boolean {
  const form = ({ path, operation: { parameters, responses } }: Placed): string =>
    JSON.stringify([path, parameters, responses])
  return one.path === RECEIVER && form(one) === form(other)
}

/** The refusals that any operation of their kind can give, so that each operation lists only the others. */
const COMMON: ReadonlySet<string> = new Set([
  'approver_email_not_allowed',
  'approver_email_required',
  'approver_not_found',
  'authenticator_refused',
  'challenge_invalid',
  'csrf_refused',
  'insufficient_scope',
  'internal_error',
  'invalid or missing API key',
  'invalid_field',
  'invalid_json',
  'not_signed_in',
  'passkey_refused',
  'payload_too_large',
  'proof_required',
  'rate limit exceeded',
  'storage_unavailable',
  'totp_disabled',
  'totp_locked',
  'totp_refused',
  'unavailable',
  'unsupported_media_type',
])

function refusalsView(openapi: OpenApi): Html {
  const examples = Object.values<Named<oas31.ExampleObject>>(openapi.components?.examples ?? {})
  const bodies = examples.map((example) => ('value' in example ? example.value : undefined))
  const sentences = bodies.filter(isRefusal).filter(({ error }) => !error.endsWith(' required'))
  const rows = sentences.map(({ error, message }) => html`<dt>${error}<dd>${inline(message)}`)
  return html`<section><h2 id="refusals">Refusals</h2><p>A field that is missing is refused with ${inline('`<field> required`')}. Operations do not list what keys, sessions, proofs, bodies and limits have in common: ${[...COMMON].join(', ')}.</p><details id="ErrorCode"><summary><h3>All, with examples of their sentences</h3></summary><dl>${rows}</dl></details></section>`
}

function isRefusal(body: unknown): body is { error: string; message: string } {
  return body !== null && typeof body === 'object' && 'error' in body && typeof body.error === 'string'
}

function schemasView(openapi: OpenApi): Html {
  const schemas = Object.entries(openapi.components?.schemas ?? {})
    .filter(([name, schema]) => name !== 'ErrorCode' && !isPlain(schema))
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return html`<section><h2 id="schemas">Schemas</h2><p>${inline('A field with `?` may be missing; `[]` is a list.')}</p>${schemas.map(
    ([name, schema]) =>
      html`<details id="${name}"><summary>${name}</summary>${schema.description === undefined ? undefined : prose(schema.description)}${schemaView(openapi, schema)}</details>`,
  )}</section>`
}

/** Checks whether a schema is a text of a form that its name tells: an id, a time. */
function isPlain(schema: SchemaNode): boolean {
  return schema.type === 'string' && schema.enum === undefined
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/**
 * Renders everything about one operation, folded, so that the page reads as a list of operations.
 * @param model the first operation that differs only in its body, if there is any: the rest is shown there
 */
function operationView(openapi: OpenApi, placed: Placed, model = placed): Html {
  const { method, path, operation } = placed
  const { operationId: id, summary, description, requestBody } = operation
  const body =
    requestBody === undefined || '$ref' in requestBody ? undefined : Object.values(requestBody.content)[0]
  const bodyRow = body?.schema === undefined ? undefined : bodyView(openapi, body.schema)
  const rest =
    model === placed
      ? html`<dl>${parametersView(openapi, operation)}${bodyRow}${answersView(openapi, operation)}`
      : html`<dl>${bodyRow}</dl><p>Headers and answers: as with “<a href="#${model.operation.operationId}">${model.operation.summary}</a>”.`
  return html`<details id="${id}"><summary><h3>${summary}</h3> <b${method === 'post' ? undefined : html` class="${method}"`}>${method.toUpperCase()}</b> <code>${path}</code></summary>${
    description === undefined ? undefined : prose(description)
  }${path === RECEIVER ? undefined : callView(placed, body)}${rest}</details>`
}

function parametersView(openapi: OpenApi, { parameters = [] }: oas31.OperationObject): Html[] {
  return parameters
    .map((named) => resolve(openapi.components?.parameters, named))
    .filter((parameter) => parameter.in !== 'path')
    .map((parameter) => parameterView(openapi, parameter))
}

/** Renders the answers, and ends their list; of refusals only the codes, since all have one form. */
function answersView(openapi: OpenApi, { responses = {} }: oas31.OperationObject): Html {
  const answers = Object.entries<Named<oas31.ResponseObject>>(responses).map(
    ([status, named]) => [status, resolve(openapi.components?.responses, named)] as const,
  )
  const codes = answers.flatMap(([, answer]) => codesOf(Object.values(answer.content ?? {})[0]))
  const refusals = codes.filter((code) => !COMMON.has(code))
  return html`${answers.map(([status, answer]) => answerView(openapi, status, answer))}</dl>${
    refusals.length === 0 ? undefined : html`<p>Refusals: ${refusals.join(', ')}`
  }`
}

/** Renders who may call an operation, and the call; nothing for one of signed-in people, since sessions belong to browsers. */
function callView(placed: Placed, body: Media | undefined): Html | undefined {
  const { security } = placed.operation
  if (security === undefined) return undefined
  if (security.length > 0 && !security.some((way) => 'apiKey' in way)) return undefined
  return html`<pre class="call">${curlOf(placed, body)}</pre><p>Who: ${accessOf(security)}`
}

/** Renders a body. */
function bodyView(openapi: OpenApi, schema: SchemaNode): Html {
  return html`<dt>Body: ${typeOf(openapi, schema)}<dd>${contentView(openapi, schema)}`
}

/** Renders the description and the fields of a body; nothing if they are shown elsewhere, where its type leads. */
function contentView(openapi: OpenApi, schema: SchemaNode): Html[] {
  const { properties } = innerOf(schema)
  const fields = properties === undefined ? undefined : fieldsOf(openapi, innerOf(schema))
  return [...(schema.description === undefined ? [] : prose(schema.description)), html`${fields}`]
}

/** Returns the curl command that calls the operation. */
function curlOf({ method, path, operation }: Placed, body: Media | undefined): string {
  const byKey = operation.security?.some((way) => 'apiKey' in way)
  const example = body?.example ?? Object.values<oas31.ExampleObject>(body?.examples ?? {})[0]?.value
  return [
    `curl${method === 'get' ? '' : ` -X ${method.toUpperCase()}`} "$BASE_URL${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `$${name.toUpperCase()}`)}"`,
    ...(byKey ? ['-H "Authorization: Bearer $COUNTERSIGN_KEY"'] : []),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'"]),
    ...(example === undefined ? [] : [`-d '${JSON.stringify(example)}'`]),
  ].join(' \\\n  ')
}

function parameterView(
  openapi: OpenApi,
  { name, in: place, schema, required, description }: oas31.ParameterObject,
): Html {
  const told = [place === 'header' ? 'Header.' : '', description ?? ''].join(' ').trim()
  return fieldView(openapi, { name, schema: schema ?? {}, required: required ?? false, description: told })
}

/** Renders one answer; nothing for a refusal, since all have the same form. */
function answerView(openapi: OpenApi, status: string, answer: oas31.ResponseObject): Html | undefined {
  const media = Object.values(answer.content ?? {})[0]
  if (codesOf(media).length > 0) return undefined
  const names = Object.keys(answer.headers ?? {})
  const more = names.length === 0 ? '' : ` Headers: ${names.join(', ')}.`
  const [type, content] =
    media?.schema === undefined
      ? []
      : [html`: ${typeOf(openapi, media.schema)}`, contentView(openapi, media.schema)]
  return html`<dt>${status}${type}<dd>${inline(`${answer.description}${more}`)}${content}${media === undefined ? undefined : examplesOf(media)}`
}

/** Returns the codes of a refusal; none for any other answer. */
function codesOf(media: Media | undefined): string[] {
  const { allOf: parts = [] }: SchemaNode = media?.schema ?? {}
  return parts.flatMap(({ properties = {} }: SchemaNode) => {
    const error: SchemaNode = properties.error ?? {}
    return (error.enum ?? [error.const]).filter((code) => typeof code === 'string')
  })
}

function examplesOf({ example, examples = {} }: Media): Html[] {
  const values =
    example === undefined ? Object.values<Named<oas31.ExampleObject>>(examples) : [{ value: example }]
  return values.map((one) => ('value' in one ? jsonBlock(one.value) : html``))
}

function accessOf(security: oas31.SecurityRequirementObject[]): Html {
  const keys = security.flatMap((way) => way.apiKey ?? [])
  const key = security.some((way) => 'apiKey' in way)
  const people = security.some((way) => 'sessionToken' in way)
  if (!key) return html`anyone`
  return html`API key${keys.map((scope) => html` with scope ${scope}`)}${people ? ', or signed-in people' : undefined}`
}

/** `apiKey` → `API key`. */
function schemeName(scheme: string): string {
  return scheme.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replace(/^api\b/, 'API')
}

/** Renders the fields of a schema or, if it has none, its variants or its type. A reference is resolved. */
function schemaView(openapi: OpenApi, given: SchemaNode): Html {
  const schema = resolveSchema(openapi, given)
  if (schema.properties !== undefined) return fieldsOf(openapi, schema)
  if (schema.anyOf !== undefined)
    return html`<p>One of:<ul>${schema.anyOf.map((part) => html`<li>${typeOf(openapi, part)}`)}</ul>`
  return html`<p>${typeOf(openapi, schema)}`
}

function fieldsOf(openapi: OpenApi, schema: SchemaNode): Html {
  const required = new Set(schema.required)
  const rows = Object.entries<SchemaNode>(schema.properties ?? {}).map(([name, field]) =>
    fieldView(openapi, {
      name,
      schema: field,
      required: required.has(name),
      description: field.description,
    }),
  )
  return html`<dl>${rows}</dl>`
}

/**
 * Renders a field or parameter: name, type, whether it is required, description and constraints. End tags that HTML lets out
 * are left out: this page has two thousand of them.
 */
function fieldView(openapi: OpenApi, { name, schema, required, description = '' }: Row): Html {
  const inner = innerOf(schema)
  const nested = inner.properties === undefined ? undefined : fieldsOf(openapi, inner)
  const bounds = boundsOf(schema)
  const mark = required ? '' : '?'
  return html`<dt>${name}${mark}: ${typeOf(openapi, schema)}<dd>${inline(description)}${bounds === '' ? '' : ` (${bounds})`}${nested}`
}

interface Row {
  name: string
  schema: SchemaNode
  required: boolean
  description?: string | undefined
}

function typeOf(openapi: OpenApi, schema: SchemaNode): Html {
  if (schema.$ref !== undefined) {
    const name = nameOfRef(schema.$ref)
    return isPlain(resolveSchema(openapi, schema)) ? html`${name}` : html`<a href="#${name}">${name}</a>`
  }
  if (schema.anyOf !== undefined)
    return html`${schema.anyOf.map((part, index) => html`${index > 0 ? ' or ' : ''}${typeOf(openapi, part)}`)}`
  if (schema.const !== undefined) return html`${valueText(schema.const)}`
  if (schema.enum !== undefined) return html`${schema.enum.map(valueText).join(' | ')}`
  if (schema.items !== undefined) return html`${typeOf(openapi, schema.items)}[]`
  if (schema.title !== undefined) return html`${schema.title}`
  const types = Array.isArray(schema.type) ? schema.type : [schema.type ?? 'any value']
  return html`${types.join(' or ')}`
}

function valueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Returns the bounds of a value, such as `1 to 500 characters`; empty if there are none. */
function boundsOf(schema: SchemaNode): string {
  const bounds: [number | undefined, number | undefined, string][] = [
    [schema.minimum, schema.maximum, ''],
    [schema.minLength, schema.maxLength, ' characters'],
    [schema.minItems, schema.maxItems, ' entries'],
    [schema.minProperties, schema.maxProperties, ' fields'],
  ]
  return bounds
    .flatMap(([least, most, unit]) => {
      if (most === undefined) return least === undefined ? [] : [`at least ${least}${unit}`]
      return [`${least === undefined ? 'at most' : `${least} to`} ${most}${unit}`]
    })
    .join(', ')
}
