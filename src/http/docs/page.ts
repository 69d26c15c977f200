import { type OpenApi, readDocument } from './document.ts'
import { type Html, html } from './html.ts'
import { operationView, type Placed, schemeName } from './operation-view.ts'
import { inline, prose } from './prose.ts'
import { schemaView } from './schema-view.ts'

/** The interface as a page for people: no script, the same for everybody. @param styleHref address of the stylesheet */
export function renderDocs(json: unknown, styleHref: string): string {
  const openapi = readDocument(json)
  const { title, version, description } = openapi.info
  const sections = sectionsOf(openapi)
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${styleHref}">
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header><div class="bar"><a class="brand" href="#top">${title} <span>API ${version}</span></a><a href="/openapi.json">openapi.json</a></div></header>
<div class="columns" id="top">
<nav class="wide" aria-label="Operations">${contents(sections)}</nav>
<main id="content" tabindex="-1">
<h1>${title} API</h1>
${prose(description)}
<details class="narrow"><summary>Contents</summary>${contents(sections)}</details>
${securityView(openapi)}
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

function sectionsOf(openapi: OpenApi): Section[] {
  const sent = Object.values(openapi.webhooks).map((item) => ['your receiver', item] as const)
  const placed = [...Object.entries(openapi.paths), ...sent].flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  )
  return openapi.tags.map(({ name, description }) => ({
    id: name.toLowerCase().replaceAll(' ', '-'),
    name,
    description,
    operations: placed.filter(({ operation }) => operation.tags.includes(name)),
  }))
}

function contents(sections: Section[]): Html {
  return html`<ul class="contents"><li><a href="#security">Who may call</a></li>${sections.map(
    ({ id, name, operations }) =>
      html`<li><a href="#${id}">${name}</a><ul>${operations.map(({ operation }) => html`<li><a href="#${operation.operationId}">${operation.summary}</a></li>`)}</ul></li>`,
  )}<li><a href="#schemas">Schemas</a></li></ul>`
}

function securityView(openapi: OpenApi): Html {
  const schemes = Object.entries(openapi.components.securitySchemes)
  return html`<section><h2 id="security">Who may call</h2><dl class="fields">${schemes.map(
    ([scheme, { description }]) =>
      html`<dt id="security-${scheme}">${capital(schemeName(scheme))}</dt><dd><p>${inline(description)}</p></dd>`,
  )}</dl></section>`
}

function sectionView(openapi: OpenApi, { id, name, description, operations }: Section): Html {
  return html`<section><h2 id="${id}">${name}</h2>${prose(description)}${operations.map((placed) => operationView(openapi, placed))}</section>`
}

function schemasView(openapi: OpenApi): Html {
  const schemas = Object.entries(openapi.components.schemas).sort(([a], [b]) => (a < b ? -1 : 1))
  return html`<section><h2 id="schemas">Schemas</h2>${schemas.map(
    ([name, schema]) =>
      html`<article class="schema" id="schema-${name}"><h3><a class="anchor" href="#schema-${name}">${name}</a></h3>${schema.description === undefined ? undefined : prose(schema.description)}${schemaView(openapi, schema)}</article>`,
  )}</section>`
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
