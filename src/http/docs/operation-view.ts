import {
  type Answer,
  type Media,
  nameOfRef,
  type OpenApi,
  type Operation,
  type Parameter,
  resolveAnswer,
  resolveParameter,
} from './document.ts'
import { type Html, html } from './html.ts'
import { jsonBlock, prose } from './prose.ts'
import { fieldView, schemaView } from './schema-view.ts'

/** One operation with its place. */
export interface Placed {
  method: string
  path: string
  operation: Operation
}

/** Everything about one operation. */
export function operationView(openapi: OpenApi, { method, path, operation }: Placed): Html {
  const { operationId: id, summary, description, security, requestBody, responses } = operation
  const parameters = (operation.parameters ?? []).map((named) => resolveParameter(openapi, named))
  const body = requestBody === undefined ? undefined : Object.values(requestBody.content)[0]
  return html`<article class="operation" id="${id}">
<h3><a class="anchor" href="#${id}">${summary}</a></h3>
<p class="route"><span class="method ${method}">${method.toUpperCase()}</span> <code>${breakable(path)}</code></p>
${description === undefined ? undefined : prose(description)}
${security === undefined ? undefined : html`<p class="access"><strong>Who:</strong> ${accessOf(security)}</p>`}
${parameters.length === 0 ? undefined : html`<h4>Parameters</h4><dl class="fields">${parameters.map((parameter) => fieldView(parameter.name, { ...parameter.schema, description: describeParameter(parameter) }, parameter.required ?? false))}</dl>`}
${body === undefined ? undefined : html`<h4>Body</h4>${mediaView(openapi, body)}`}
<h4>Answers</h4>
${Object.entries(responses).map(([status, answer]) => answerView(openapi, status, resolveAnswer(openapi, answer)))}
</article>`
}

function describeParameter({ in: place, schema }: Parameter): string {
  return `In the ${place}. ${schema.description ?? ''}`.trim()
}

/** Refusals all have one form, so only their codes are listed. */
function answerView(openapi: OpenApi, status: string, answer: Answer): Html {
  const media = Object.values(answer.content ?? {})[0]
  const refused = media?.schema?.$ref !== undefined && nameOfRef(media.schema.$ref) === 'Error'
  const names = Object.keys(answer.headers ?? {})
  return html`<section class="answer"><h5><span class="status s${status.charAt(0)}">${status}</span></h5><div>${prose(answer.description)}${names.length === 0 ? undefined : html`<p class="facts">headers ${names.map((name) => html`<code>${name}</code> `)}</p>`}${media === undefined || refused ? undefined : mediaView(openapi, media)}</div></section>`
}

function mediaView(openapi: OpenApi, media: Media): Html {
  const named = media.schema?.$ref
  const examples = media.example === undefined ? media.examples : { example: { value: media.example } }
  return html`${named === undefined ? undefined : html`<p class="type"><a href="#schema-${nameOfRef(named)}">${nameOfRef(named)}</a></p>`}${media.schema === undefined ? undefined : schemaView(openapi, media.schema)}${Object.entries(examples ?? {}).map(([name, { value }]) => html`<p class="caption">${name.replaceAll('_', ' ')}</p>${jsonBlock(value)}`)}`
}

function accessOf(security: NonNullable<Operation['security']>): Html {
  if (security.length === 0) return html`anybody`
  const ways = security.map((way) =>
    Object.entries(way).map(([scheme, scopes], index) => {
      const scoped = scopes.length > 0 ? html` with scope <code>${scopes.join(' ')}</code>` : undefined
      return html`${index > 0 ? ' with ' : ''}<a href="#security-${scheme}">${schemeName(scheme)}</a>${scoped}`
    }),
  )
  return html`${ways.map((way, index) => html`${index > 0 ? ', or ' : ''}${way}`)}`
}

/** `apiKey` → `API key`. */
export function schemeName(scheme: string): string {
  return scheme.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replace(/^api\b/, 'API')
}

/** Long paths may break after a slash. */
function breakable(path: string): Html[] {
  return path.split(/(?<=\/)/).map((part) => html`${part}<wbr>`)
}
