/** Alphabets whose letters can pass for each other; one word should not mix them. */
const LOOK_ALIKE_SCRIPTS: readonly { name: string; letter: RegExp }[] = [
  { name: 'Latin', letter: /(?![\uff21-\uff5a])\p{Script=Latin}/u },
  { name: 'Cyrillic', letter: /\p{Script=Cyrillic}/u },
  { name: 'Greek', letter: /\p{Script=Greek}/u },
  { name: 'Armenian', letter: /\p{Script=Armenian}/u },
  { name: 'Georgian', letter: /\p{Script=Georgian}/u },
  { name: 'Cherokee', letter: /\p{Script=Cherokee}/u },
  { name: 'Coptic', letter: /\p{Script=Coptic}/u },
  { name: 'Lisu', letter: /\p{Script=Lisu}/u },
  { name: 'Deseret', letter: /\p{Script=Deseret}/u },
  { name: 'full-width', letter: /[\uff21-\uff3a\uff41-\uff5a]/u },
  { name: 'mathematical', letter: /[\u{1d400}-\u{1d7cb}]/u },
]

/** Ohm and micro written with Greek letters, as in `kΩ` and `μs`. */
const UNIT = /^(?:[kMGm]?\u03a9|\u03bc[A-Za-z]{1,3})$/
/** Letters that imitate Latin ones. Full-width letters are normal beside East Asian writing. */
const MATHEMATICAL = /[\u{1d400}-\u{1d7cb}]{2,}/u
const FULL_WIDTH = /[\uff21-\uff3a\uff41-\uff5a]{2,}/u
const EAST_ASIAN =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}]/u
const LATIN = /\p{Script=Latin}/u
const FOREIGN = /[\p{Script=Cyrillic}\p{Script=Greek}]/u
/** A word made only of Cyrillic or Greek letters that are drawn like Latin ones. */
const LATIN_TWIN = /^(?:[АВЕКМНОРСТХУІЈЅасеорхуіјѕԁԛԝһӏѵ]+|[ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονρυικαγ]+)$/u

/**
 * Returns one sentence when a word mixes look-alike alphabets (`pаypal` with a Cyrillic `а`), imitates Latin with mathematical
 * or full-width letters, or is spelled wholly with another alphabet's look-alikes of Latin letters in an otherwise Latin text;
 * undefined when nothing looks odd. A warning for the approver, never a refusal: honest text can trigger it.
 */
export function mixedScriptWarning(text: string): string | undefined {
  // An invisible character must not split a suspicious word into two harmless halves.
  const visible = text.replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu, '')
  for (const token of visible.split(/\s+/u)) {
    for (const word of wordsOf(token)) {
      const scripts = scriptsOf(word)
      if (scripts.length > 1 && !UNIT.test(word)) {
        return `“${shorten(word)}” mixes ${scripts.join(' and ')} letters, which can look alike.`
      }
    }
  }
  const twin = findImitation(visible) ?? findTwin(visible)
  return (
    twin &&
    `“${shorten(twin)}” looks like Latin letters but is written in ${scriptsOf(twin).join(' and ')} letters.`
  )
}

function findImitation(text: string): string | undefined {
  return MATHEMATICAL.exec(text)?.[0] ?? (EAST_ASIAN.test(text) ? undefined : FULL_WIDTH.exec(text)?.[0])
}

function findTwin(text: string): string | undefined {
  // Real words of the other alphabet nearby explain short words such as "сор".
  const explained =
    !LATIN.test(text) || wordsOf(text).some((word) => FOREIGN.test(word) && !LATIN_TWIN.test(word))
  for (const token of text.split(/\s+/u)) {
    const twin = wordsOf(token).find((word) => word.length > 1 && LATIN_TWIN.test(word))
    if (twin !== undefined && (!explained || LATIN.test(token))) return twin
  }
  return undefined
}

function wordsOf(text: string): string[] {
  return text.match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
}

function scriptsOf(word: string): string[] {
  return LOOK_ALIKE_SCRIPTS.filter(({ letter }) => letter.test(word)).map(({ name }) => name)
}

/** Prepares a caller's word for quotation: no marks that are drawn over our sentence, and 40 characters at most. */
function shorten(word: string): string {
  const characters = [...word.replace(/\p{M}/gu, '')]
  return characters.length > 40 ? `${characters.slice(0, 40).join('')}…` : characters.join('')
}
