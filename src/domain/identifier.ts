/** Prefixes of every kind of id (closed list). */
export type IdPrefix =
  | 'req'
  | 'bat'
  | 'dec'
  | 'key'
  | 'acc'
  | 'usr'
  | 'evt'
  | 'whk'
  | 'dlv'
  | 'crd'
  | 'cln'
  | 'ses'
  | 'pky'
  | 'enr'
  | 'bst'
  | 'psd'
  | 'psh'
  | 'cpy'

const CROCKFORD = '0123456789abcdefghjkmnpqrstvwxyz'

/** Characters after the prefix: 26 × 5 bits = 130 random bits, so ids cannot be guessed at the public verify endpoint (T68). */
const LENGTH = 26

/** Random bytes that `newId` takes: one per character, of which five bits are used. */
export const ID_BYTES = LENGTH

/** Makes `<prefix>_` + 26 Crockford base-32 characters from `ID_BYTES` random bytes. */
export function newId(prefix: IdPrefix, random: Uint8Array): string {
  if (random.length !== ID_BYTES) throw new RangeError(`an id takes ${ID_BYTES} random bytes`)
  let text = ''
  for (const byte of random) text += CROCKFORD.charAt(byte & 31)
  return `${prefix}_${text}`
}

/** Draws a fresh id. */
export function drawId(
  { random }: { random: { bytes(length: number): Uint8Array } },
  prefix: IdPrefix,
): string {
  return newId(prefix, random.bytes(ID_BYTES))
}

/** Checks whether a value has the form of an id of that kind. Anything else is refused before it reaches a query (T61). */
export function isId(prefix: IdPrefix, text: unknown): text is string {
  return (
    typeof text === 'string' &&
    text.length === prefix.length + 1 + LENGTH &&
    text.startsWith(`${prefix}_`) &&
    /^[0-9a-hjkmnp-tv-z]{26}$/.test(text.slice(prefix.length + 1))
  )
}
