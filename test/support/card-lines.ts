/** A line of an Adaptive Card: one text block, with the styles of the containers around it. */
export interface CardLine {
  text: string
  /** `TextBlock`, in which Markdown is drawn, or `RichTextBlock`. */
  type: string
  /** Style of the container: `emphasis` is the caller's frame. */
  ground?: string
  bold: boolean
}

/** Every line of a card from top to bottom, no-break spaces as plain ones. */
export function cardLines(value: unknown, ground?: string): CardLine[] {
  if (Array.isArray(value)) return value.flatMap((inner: unknown) => cardLines(inner, ground))
  if (typeof value !== 'object' || value === null) return []
  const field = (name: string): unknown => Reflect.get(value, name)
  const type = String(field('type'))
  if (type === 'AdaptiveCard') return cardLines(field('body'))
  if (type === 'Container') return cardLines(field('items'), groundOf(field('style')) ?? ground)
  if (type === 'TextBlock') return [line(type, [value], ground)]
  const inlines = field('inlines')
  return type === 'RichTextBlock' && Array.isArray(inlines) ? [line(type, inlines, ground)] : []
}

function groundOf(style: unknown): string | undefined {
  return typeof style === 'string' ? style : undefined
}

/** Markdown is drawn in text blocks; of it we use bold words alone. */
function line(type: string, runs: object[], ground: string | undefined): CardLine {
  const written = runs.map((run) => String(Reflect.get(run, 'text'))).join('')
  const text = type === 'TextBlock' ? written.replaceAll('**', '') : written
  const bold = text !== written || runs.some((run) => Reflect.get(run, 'weight') === 'Bolder')
  return { text: text.replaceAll('\u00a0', ' '), type, bold, ...(ground === undefined ? {} : { ground }) }
}

/** What a reader sees, a line each. */
export function cardText(card: object): string {
  return cardLines(card)
    .map(({ text }) => text)
    .join('\n')
}

/** A button of an Adaptive Card. */
export interface CardButton {
  type: string
  title: string
  url?: string
  verb?: string
}

/** Every button of a card from top to bottom, those of the fold included. */
export function buttonsOn(card: object): CardButton[] {
  return Object.entries(card).flatMap(([name, inner]: [string, unknown]) => {
    if (typeof inner !== 'object' || inner === null) return []
    return name === 'actions' && Array.isArray(inner) ? inner : buttonsOn(inner)
  })
}
