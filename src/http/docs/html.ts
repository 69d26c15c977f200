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
