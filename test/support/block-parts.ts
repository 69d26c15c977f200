/** A text somewhere in blocks, with the chain of types around it, outermost first. */
export interface PlacedText {
  text: string
  within: string[]
}

/** Every `text` of blocks with its surroundings: `['rich_text', 'rich_text_quote', 'text']`. */
export function placedTexts(blocks: unknown, within: string[] = []): PlacedText[] {
  if (Array.isArray(blocks)) return blocks.flatMap((inner: unknown) => placedTexts(inner, within))
  if (typeof blocks !== 'object' || blocks === null) return []
  const type: unknown = Reflect.get(blocks, 'type')
  const chain = typeof type === 'string' ? [...within, type] : within
  return Object.entries(blocks).flatMap(([name, inner]: [string, unknown]) => {
    if (typeof inner === 'string') return name === 'text' ? [{ text: inner, within: chain }] : []
    return placedTexts(inner, chain)
  })
}

/** What a reader sees, pieces joined as they stand. */
export function shownText(blocks: unknown): string {
  return placedTexts(blocks)
    .map(({ text }) => text)
    .join('')
}

/** The buttons of a message. */
export function buttonsOf(blocks: readonly object[]): Record<string, unknown>[] {
  return blocks.flatMap((block) => {
    const elements: unknown = Reflect.get(block, 'elements')
    return Reflect.get(block, 'type') === 'actions' && Array.isArray(elements) ? elements : []
  })
}
