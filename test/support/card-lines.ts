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
  if (type === 'Container') return cardLines(field('items'), String(field('style')))
  if (type === 'TextBlock') return [line(type, [value], ground)]
  const inlines = field('inlines')
  return type === 'RichTextBlock' && Array.isArray(inlines) ? [line(type, inlines, ground)] : []
}

function line(type: string, runs: object[], ground: string | undefined): CardLine {
  const text = runs.map((run) => String(Reflect.get(run, 'text'))).join('')
  const bold = runs.some((run) => Reflect.get(run, 'weight') === 'Bolder')
  return { text: text.replaceAll('\u00a0', ' '), type, bold, ...(ground === undefined ? {} : { ground }) }
}

/** What a reader sees, a line each. */
export function cardText(card: object): string {
  return cardLines(card)
    .map(({ text }) => text)
    .join('\n')
}
