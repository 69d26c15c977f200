import type { oas31 } from 'zod-openapi'
import { DOCS_SCRIPT_PATH, DOCS_STYLE_PATH } from './assets.ts'
import { type Html, html, inline, jsonBlock, prose } from './html.ts'

type OpenApi = oas31.OpenAPIObject
type Media = oas31.MediaTypeObject
type Given = oas31.SchemaObject
/** A schema or a reference to one, without extension fields (`x-…`), which the page does not show. */
type SchemaNode = { [Key in keyof Given as Key extends `x-${string}` ? never : Key]: Given[Key] }
type Named<Part> = Part | oas31.ReferenceObject

/** Renders the interface as a page, the same for everyone. The build calls this (`scripts/service.vite.config.mjs`). */
export function renderDocs(openapi: OpenApi): string {
  const { title, version, description = '' } = openapi.info
  const sections = sectionsOf(openapi)
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${DOCS_STYLE_PATH}">
<script defer src="${DOCS_SCRIPT_PATH}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header><div class="bar"><a class="brand" href="#top">${title} <span>API ${version}</span></a><div class="filter" role="search" hidden><label for="filter">Filter</label><input id="filter" type="search" autocomplete="off" spellcheck="false"><p role="status"></p></div><span><a href="/">Dashboard</a> <a href="/openapi.json">openapi.json</a></span></div></header>
<div class="columns" id="top">
<nav class="wide" aria-label="Operations">${contents(sections)}</nav>
<main id="content" tabindex="-1">
<h1>${title} API</h1>
<details class="narrow"><summary>Contents</summary>${contents(sections)}</details>
<div class="about">${prose(description)}
${securityView(openapi)}</div>
${sections.map((section) => sectionView(openapi, section))}
${schemasView(openapi)}
</main>
</div>
</body>
</html>
`
  return page.text
}

interface Section {
  id: string
  name: string
  description: string
  operations: Placed[]
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const

function sectionsOf({ paths = {}, webhooks = {}, tags = [] }: OpenApi): Section[] {
  const sent = Object.values(webhooks).map((item) => ['your receiver', item] as const)
  const placed = [...Object.entries(paths), ...sent].flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method]
      return operation === undefined ? [] : [{ method, path, operation }]
    }),
  )
  return tags.map(({ name, description = '' }) => ({
    id: name.toLowerCase().replaceAll(' ', '-'),
    name,
    description,
    operations: placed.filter(({ operation }) => operation.tags?.includes(name)),
  }))
}

function contents(sections: Section[]): Html {
  return html`<ul class="contents"><li><a href="#security">Who may call</a></li>${sections.map(
    ({ id, name, operations }) =>
      html`<li><a href="#${id}">${name}</a><ul>${operations.map(({ operation }) => html`<li><a href="#${operation.operationId}">${operation.summary}</a></li>`)}</ul></li>`,
  )}<li><a href="#schemas">Schemas</a></li></ul>`
}

function securityView(openapi: OpenApi): Html {
  const schemes = Object.entries(openapi.components?.securitySchemes ?? {})
  return html`<section><h2 id="security">Who may call</h2><dl class="fields">${schemes.map(
    ([scheme, { description }]) =>
      html`<dt id="security-${scheme}">${capital(schemeName(scheme))}</dt><dd><p>${inline(description ?? '')}</p></dd>`,
  )}</dl></section>`
}

function sectionView(openapi: OpenApi, { id, name, description, operations }: Section): Html {
  return html`<section><h2 id="${id}">${name}</h2>${prose(description)}${operations.map((placed) => operationView(openapi, placed))}</section>`
}

function schemasView(openapi: OpenApi): Html {
  const schemas = Object.entries(openapi.components?.schemas ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))
  return html`<section><h2 id="schemas">Schemas</h2>${schemas.map(
    ([name, schema]) =>
      html`<article class="schema" id="schema-${name}"><details><summary><h3>${name}</h3></summary>${schema.description === undefined ? undefined : prose(schema.description)}${schemaView(openapi, schema)}</details></article>`,
  )}</section>`
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** An operation with its method and path. */
interface Placed {
  method: string
  path: string
  operation: oas31.OperationObject
}

/** Renders everything about one operation, folded, so that the page reads as a list of operations. */
function operationView(openapi: OpenApi, { method, path, operation }: Placed): Html {
  const { operationId: id, summary, description, security, requestBody, responses } = operation
  const parameters = (operation.parameters ?? []).map((named) =>
    resolve(openapi.components?.parameters, named),
  )
  const body =
    requestBody === undefined || '$ref' in requestBody ? undefined : Object.values(requestBody.content)[0]
  const answers = Object.entries<Named<oas31.ResponseObject>>(responses ?? {})
  return html`<article class="operation" id="${id}"><details>
<summary><h3>${summary}</h3> <span class="route"><span class="method ${method}">${method.toUpperCase()}</span> <code>${breakable(path)}</code></span></summary>
${description === undefined ? undefined : prose(description)}
${security === undefined ? undefined : html`<pre class="call"><code>${curlOf({ method, path, operation }, body)}</code></pre><p class="access"><strong>Who:</strong> ${accessOf(security)}</p>`}
${parameters.length === 0 ? undefined : html`<h4>Parameters</h4><dl class="fields">${parameters.map((parameter) => fieldView(parameter.name, { ...parameter.schema, description: describeParameter(parameter) }, parameter.required ?? false))}</dl>`}
${body === undefined ? undefined : html`<h4>Body</h4>${mediaView(openapi, body)}`}
<h4>Answers</h4>
${answers.map(([status, answer]) => answerView(openapi, status, resolve(openapi.components?.responses, answer)))}
</details></article>`
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

function describeParameter({ in: place, schema }: oas31.ParameterObject): string {
  return `In the ${place}. ${schema?.description ?? ''}`.trim()
}

/** Renders one answer. Refusals all have the same form, so only their codes are listed. */
function answerView(openapi: OpenApi, status: string, answer: oas31.ResponseObject): Html {
  const media = Object.values(answer.content ?? {})[0]
  const codes = codesOf(media)
  const names = Object.keys(answer.headers ?? {})
  return html`<section class="answer"><h5><span class="status s${status.charAt(0)}">${status}</span></h5><div>${codes.length === 0 ? prose(answer.description) : html`<p>${codes.map((code) => html`<code>${code}</code> `)}</p>`}${names.length === 0 ? undefined : html`<p class="facts">headers ${names.map((name) => html`<code>${name}</code> `)}</p>`}${media === undefined || codes.length > 0 ? undefined : mediaView(openapi, media)}</div></section>`
}

/** Returns the codes of a refusal; none for any other answer. */
function codesOf(media: Media | undefined): string[] {
  const { allOf: parts = [] }: SchemaNode = media?.schema ?? {}
  return parts.flatMap(({ properties = {} }: SchemaNode) => {
    const error: SchemaNode = properties.error ?? {}
    return (error.enum ?? [error.const]).filter((code) => typeof code === 'string')
  })
}

function mediaView(openapi: OpenApi, media: Media): Html {
  const named = media.schema?.$ref
  const examples = media.example === undefined ? media.examples : { example: { value: media.example } }
  return html`${named === undefined ? undefined : html`<p class="type"><a href="#schema-${nameOfRef(named)}">${nameOfRef(named)}</a></p>`}${media.schema === undefined ? undefined : schemaView(openapi, media.schema)}${Object.entries<oas31.ExampleObject>(examples ?? {}).map(([name, { value }]) => html`<p class="caption">${name.replaceAll('_', ' ')}</p>${jsonBlock(value)}`)}`
}

function accessOf(security: oas31.SecurityRequirementObject[]): Html {
  if (security.length === 0) return html`anyone`
  const ways = security.map((way) =>
    Object.entries(way).map(([scheme, scopes], index) => {
      const scoped = scopes.length > 0 ? html` with scope <code>${scopes.join(' ')}</code>` : undefined
      return html`${index > 0 ? ' with ' : ''}<a href="#security-${scheme}">${schemeName(scheme)}</a>${scoped}`
    }),
  )
  return html`${ways.map((way, index) => html`${index > 0 ? ', or ' : ''}${way}`)}`
}

/** `apiKey` → `API key`. */
function schemeName(scheme: string): string {
  return scheme.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replace(/^api\b/, 'API')
}

/** Lets a long path break after each slash. */
function breakable(path: string): Html[] {
  return path.split(/(?<=\/)/).map((part) => html`${part}<wbr>`)
}

/** Levels of nested fields that are shown; beyond these, only the type is named. */
const MAX_DEPTH = 5

/** Renders the fields of a schema or, if it has none, its variants or its type. A reference is resolved. */
function schemaView(openapi: OpenApi, given: SchemaNode): Html {
  const schema = resolveSchema(openapi, given)
  if (schema.properties !== undefined) return fieldsOf(schema, 1)
  if (schema.anyOf !== undefined)
    return html`<p class="type">One of:</p><ul>${schema.anyOf.map((part) => html`<li>${typeOf(part)}${note(openapi, part)}</li>`)}</ul>`
  return html`<p class="type">${typeOf(schema)}</p>`
}

function note(openapi: OpenApi, schema: SchemaNode): Html | undefined {
  const { description } = resolveSchema(openapi, schema)
  return description === undefined ? undefined : html` &#8212; ${inline(description)}`
}

function fieldsOf(schema: SchemaNode, depth: number): Html {
  const required = new Set(schema.required)
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) =>
    fieldView(name, field, required.has(name), depth),
  )
  return html`<dl class="fields">${rows}</dl>`
}

/** Renders a field or parameter: name, type, whether it is required, description and constraints. */
function fieldView(name: string, schema: SchemaNode, required: boolean, depth = 1): Html {
  const inner = innerOf(schema)
  const nested = inner.properties !== undefined && depth < MAX_DEPTH ? fieldsOf(inner, depth + 1) : undefined
  const facts = factsOf(schema)
  return html`<dt><code>${name}</code> <span class="type">${typeOf(schema)}</span>${required ? undefined : html` <span class="optional">optional</span>`}</dt>
<dd>${schema.description === undefined ? undefined : html`<p>${inline(schema.description)}</p>`}${facts.length > 0 ? html`<p class="facts">${facts}</p>` : undefined}${nested}</dd>`
}

/** Returns the schema inside a list or a nullable field. */
function innerOf(schema: SchemaNode): SchemaNode {
  if (schema.items !== undefined) return innerOf(schema.items)
  const real = schema.anyOf?.filter((part: SchemaNode) => part.type !== 'null')
  return real?.length === 1 && real[0] !== undefined ? innerOf(real[0]) : schema
}

function typeOf(schema: SchemaNode): Html {
  if (schema.$ref !== undefined) {
    const name = nameOfRef(schema.$ref)
    return html`<a href="#schema-${name}">${name}</a>`
  }
  if (schema.anyOf !== undefined)
    return html`${schema.anyOf.map((part, index) => html`${index > 0 ? ' or ' : ''}${typeOf(part)}`)}`
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`
  if (schema.enum !== undefined)
    return html`${schema.enum.map((value, index) => html`${index > 0 ? ' | ' : ''}<code>${JSON.stringify(value)}</code>`)}`
  if (schema.items !== undefined) return html`list of ${typeOf(schema.items)}`
  const types = Array.isArray(schema.type) ? schema.type : [schema.type ?? 'any value']
  return html`${types.join(' or ')}${schema.format === undefined ? undefined : ` (${schema.format})`}`
}

function factsOf(schema: SchemaNode): Html[] {
  const known: [string, unknown][] = [
    ['at least', schema.minimum],
    ['at most', schema.maximum],
    ['characters at most', schema.maxLength],
    ['entries at least', schema.minItems],
    ['entries at most', schema.maxItems],
    // An example is plainer than a pattern.
    ['pattern', schema.example === undefined ? schema.pattern : undefined],
    ['example', schema.example],
  ]
  return known
    .filter(([, value]) => value !== undefined)
    .map(
      ([name, value]) =>
        html`<span>${name} <code>${typeof value === 'string' ? value : JSON.stringify(value)}</code></span> `,
    )
}

/** Returns the last part of a reference such as `#/components/schemas/Error`. */
function nameOfRef(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1)
}

/** Returns the answer or parameter itself, following a reference. @throws TypeError for a reference that leads nowhere */
function resolve<Part extends object>(
  known: Record<string, Named<Part>> | undefined,
  named: Named<Part>,
): Part {
  if (!('$ref' in named)) return named
  const found = known?.[nameOfRef(named.$ref)]
  if (found === undefined) throw new TypeError(`the document has no ${named.$ref}`)
  return resolve(known, found)
}

/** Returns the schema itself, following a reference. */
function resolveSchema(openapi: OpenApi, schema: SchemaNode): SchemaNode {
  const name = schema.$ref === undefined ? undefined : nameOfRef(schema.$ref)
  return name === undefined ? schema : (openapi.components?.schemas?.[name] ?? schema)
}
