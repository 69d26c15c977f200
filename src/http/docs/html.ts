/** Markup that may be sent unescaped. Only the `html` tag makes it, so text from elsewhere is always escaped. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Part = Html | string | number | undefined | readonly Part[]

/** Template tag: keeps the literal parts, escapes every inserted text, and leaves out `undefined`. */
export function html(literals: TemplateStringsArray, ...parts: Part[]): Html {
  const text = literals.map((literal, index) => literal + (index < parts.length ? render(parts[index]) : ''))
  return new Html(text.join(''))
}

function render(part: Part): string {
  if (part === undefined) return ''
  if (part instanceof Html) return part.text
  if (typeof part === 'object') return part.map(render).join('')
  return String(part).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** Renders our descriptions as markup: paragraphs, `- ` lists, tables and `code`, nothing else. Their end tags are optional. */
export function prose(text: string): Html[] {
  return text.split(/\n{2,}/).map((block) => {
    const lines = block.split('\n')
    if (lines.every((line) => line.startsWith('|'))) return table(lines.map(cellsOf))
    if (!lines.every((line) => line.startsWith('- '))) return html`<p>${inline(block)}`
    return html`<ul>${lines.map((line) => html`<li>${inline(line.slice(2))}`)}</ul>`
  })
}

function cellsOf(line: string): string[] {
  return line.split('|').slice(1, -1)
}

/** Renders a table; its second row only marks the first row as the head. */
function table([head = [], , ...rows]: string[][]): Html {
  const named = head.map((cell) => html`<th scope="col">${inline(cell.trim())}</th>`)
  const filled = rows.map(
    (cells) => html`<tr>${cells.map((cell) => html`<td>${inline(cell.trim())}</td>`)}</tr>`,
  )
  return html`<table><thead><tr>${named}</tr></thead><tbody>${filled}</tbody></table>`
}

/** Renders text that may contain `code`. */
export function inline(text: string): Html[] {
  return text
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith('`') ? html`<code>${part.slice(1, -1)}</code>` : html`${part}`))
}

/** Renders a value as a block of JSON. */
export function jsonBlock(value: unknown): Html {
  return html`<pre><code>${JSON.stringify(value, null, 2)}</code></pre>`
}
