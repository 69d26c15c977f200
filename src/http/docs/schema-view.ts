import { nameOfRef, type OpenApi, resolveSchema, type SchemaNode } from './document.ts'
import { type Html, html } from './html.ts'
import { inline } from './prose.ts'

/** Beyond this, nested fields are named by their type only. */
const MAX_DEPTH = 5

/** The fields of a schema, or what it consists of when it has none. A named schema is shown open. */
export function schemaView(openapi: OpenApi, given: SchemaNode): Html {
  const schema = resolveSchema(openapi, given)
  if (schema.properties !== undefined) return fieldsOf(schema, 1)
  if (schema.anyOf !== undefined)
    return html`<p class="type">One of:</p><ul>${schema.anyOf.map((part) => html`<li>${typeOf(part)}${note(openapi, part)}</li>`)}</ul>`
  return html`<p class="type">${typeOf(schema)}</p>`
}

function note(openapi: OpenApi, schema: SchemaNode): Html | undefined {
  const { description } = resolveSchema(openapi, schema)
  return description === undefined ? undefined : html` — ${inline(description)}`
}

function fieldsOf(schema: SchemaNode, depth: number): Html {
  const required = new Set(schema.required)
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) =>
    fieldView(name, field, required.has(name), depth),
  )
  return html`<dl class="fields">${rows}</dl>`
}

/** One field or parameter: name, type, whether it must be there, what it means, what holds for it. */
export function fieldView(name: string, schema: SchemaNode, required: boolean, depth = 1): Html {
  const inner = innerOf(schema)
  const nested = inner.properties !== undefined && depth < MAX_DEPTH ? fieldsOf(inner, depth + 1) : undefined
  const facts = factsOf(schema)
  return html`<dt><code>${name}</code> <span class="type">${typeOf(schema)}</span>${required ? undefined : html` <span class="optional">optional</span>`}</dt>
<dd>${schema.description === undefined ? undefined : html`<p>${inline(schema.description)}</p>`}${facts.length > 0 ? html`<p class="facts">${facts}</p>` : undefined}${nested}</dd>`
}

/** The object inside a list or a nullable field. */
function innerOf(schema: SchemaNode): SchemaNode {
  if (schema.items !== undefined) return innerOf(schema.items)
  const real = schema.anyOf?.filter((part) => part.type !== 'null')
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
    ['if left out', schema.default],
    // An example says the same more plainly.
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
