/** Markup that may go out as it is. Only `html` makes it, so text from elsewhere is always escaped. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Part = Html | string | number | undefined | readonly Part[]

/** Template tag: the literal parts are ours, every inserted text is escaped, `undefined` is nothing. */
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

/** Our descriptions as markup: paragraphs, `- ` lists, tables and `code`, nothing else. */
export function prose(text: string): Html[] {
  return text.split(/\n{2,}/).map((block) => {
    const lines = block.split('\n')
    if (lines.every((line) => line.startsWith('|'))) return table(lines.map(cellsOf))
    if (!lines.every((line) => line.startsWith('- '))) return html`<p>${inline(block)}</p>`
    return html`<ul>${lines.map((line) => html`<li>${inline(line.slice(2))}</li>`)}</ul>`
  })
}

function cellsOf(line: string): string[] {
  return line.split('|').slice(1, -1)
}

/** The second row only says that the first one is the head. */
function table([head = [], , ...rows]: string[][]): Html {
  const named = head.map((cell) => html`<th scope="col">${inline(cell.trim())}</th>`)
  const filled = rows.map(
    (cells) => html`<tr>${cells.map((cell) => html`<td>${inline(cell.trim())}</td>`)}</tr>`,
  )
  return html`<table><thead><tr>${named}</tr></thead><tbody>${filled}</tbody></table>`
}

/** One line with `code` in it. */
export function inline(text: string): Html[] {
  return text
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith('`') ? html`<code>${part.slice(1, -1)}</code>` : html`${part}`))
}

/** JSON as a block of code. */
export function jsonBlock(value: unknown): Html {
  return html`<pre><code>${JSON.stringify(value, null, 2)}</code></pre>`
}
