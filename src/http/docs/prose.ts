import { type Html, html } from './html.ts'

/** Our descriptions as markup: paragraphs, `- ` lists and `code`, nothing else. */
export function prose(text: string): Html[] {
  return text.split(/\n{2,}/).map((block) => {
    const lines = block.split('\n')
    if (!lines.every((line) => line.startsWith('- '))) return html`<p>${inline(block)}</p>`
    return html`<ul>${lines.map((line) => html`<li>${inline(line.slice(2))}</li>`)}</ul>`
  })
}

/** One line with `code` in it. */
export function inline(text: string): Html[] {
  return text
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith('`') ? html`<code>${part.slice(1, -1)}</code>` : html`${part}`))
}

/** JSON as a block of code. */
export function jsonBlock(value: unknown): Html {
  return html`<pre tabindex="0"><code>${JSON.stringify(value, null, 2)}</code></pre>`
}
