/**
 * Twenty consonants (RFC 8628, section 6.1): without vowels no words appear, without digits nothing is mistaken for a letter.
 */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ'

/** Eight letters are read aloud in two breaths, and nobody picks the right ones by luck in three tries. */
const LENGTH = 8

/** Bytes from here on would make the first letters likelier than the last. */
const FAIR = 256 - (256 % LETTERS.length)

/** Draws a matching code, as it is stored and signed: eight letters, without the dash. */
export function drawMatchingCode(random: { bytes(length: number): Uint8Array }): string {
  let code = ''
  while (code.length < LENGTH) {
    for (const byte of random.bytes(LENGTH)) {
      if (byte < FAIR && code.length < LENGTH) code += LETTERS.charAt(byte % LETTERS.length)
    }
  }
  return code
}

/** As people read it: `BDWP-HQPK`. */
export function showMatchingCode(code: string): string {
  return `${code.slice(0, LENGTH / 2)}-${code.slice(LENGTH / 2)}`
}

/** What a person typed as it is stored; case, dashes and blanks do not count. @returns undefined when it is no code at all */
export function readMatchingCode(typed: string): string | undefined {
  const code = typed.replace(/[\s\p{Dash_Punctuation}]/gu, '').toUpperCase()
  return code.length === LENGTH && [...code].every((letter) => LETTERS.includes(letter)) ? code : undefined
}
