import { unsupported } from './regex-source.ts'

/** A character that stands for itself outside of classes. */
export function literal(character: string, isCaseless: boolean): string {
  const variants = isCaseless ? variantsOf(character) : [character]
  if (variants.length > 1) return `[${variants.map(escaped).join('')}]`
  return /[\^$\\.*+?()[\]{}|/-]/.test(character) ? escaped(character) : character
}

/** A character that stands for itself in a class. */
export function member(character: string, isCaseless: boolean): string {
  return isCaseless ? variantsOf(character).map(escaped).join('') : escaped(character)
}

/** A range in a class; throws MongoError 51091 if it is out of order. */
export function range(first: string, last: string, isCaseless: boolean): string {
  const [from, to] = [pointOf(first), pointOf(last)]
  if (from > to) throw unsupported('range out of order in character class')
  const text = `${escaped(first)}-${escaped(last)}`
  if (!isCaseless) return text
  const others = new Set<string>()
  for (const [character, variants] of variantsByCharacter()) {
    const point = pointOf(character)
    if (point >= from && point <= to) for (const variant of variants) others.add(variant)
  }
  return text + Array.from(others, escaped).join('')
}

function escaped(character: string): string {
  return `\\u{${pointOf(character).toString(16)}}`
}

function pointOf(character: string): number {
  return character.codePointAt(0) ?? 0
}

function variantsOf(character: string): readonly string[] {
  return variantsByCharacter().get(character) ?? [character]
}

/** Beyond the last letter with a case, in Unicode 16. */
const endOfCased = 0x1f000
const stride = 0x1000
let table: ReadonlyMap<string, readonly string[]> | undefined

/** The characters that are one to PCRE but for case: Unicode's simple folding, so "k", "K" and the Kelvin sign. */
function variantsByCharacter(): ReadonlyMap<string, readonly string[]> {
  table ??= foldAll()
  return table
}

function foldAll(): ReadonlyMap<string, readonly string[]> {
  const byFold = new Map<string, string[]>()
  for (let start = 0; start < endOfCased; start += stride) {
    const block = String.fromCodePoint(...Array.from({ length: stride }, (_, index) => start + index))
    for (const [character] of block.matchAll(/\p{Changes_When_Casemapped}/gu)) {
      const fold = foldOf(character)
      const group = byFold.get(fold)
      if (group === undefined) byFold.set(fold, [character])
      else group.push(character)
    }
  }
  const groups = [...byFold.values()].filter((group) => group.length > 1)
  return new Map(groups.flatMap((group) => group.map((character) => [character, group] as const)))
}

function foldOf(character: string): string {
  // The dotless i is mapped to "I", but it is no other case of it.
  if (character === 'ı') return character
  const upper = single(character.toUpperCase()) ?? character
  return single(upper.toLowerCase()) ?? upper
}

function single(text: string): string | undefined {
  return text.length === String.fromCodePoint(pointOf(text)).length ? text : undefined
}
