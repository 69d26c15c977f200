const STANDARD = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const URL_SAFE = `${STANDARD.slice(0, 62)}-_`

/** Standard base64 with padding (RFC 4648 section 4). */
export function toBase64(bytes: Uint8Array): string {
  const text = encode(bytes, STANDARD)
  return text.padEnd(Math.ceil(text.length / 4) * 4, '=')
}

/**
 * Strict inverse of `toBase64`. A lenient decoder gives one signature many spellings, and each would pass as another receipt.
 * @throws RangeError unless the text is exactly what `toBase64` would write.
 */
export function fromBase64(text: string): Uint8Array {
  if (text.length % 4 !== 0) throw new RangeError('base64 must be padded to a multiple of four characters')
  const body = text.replace(/={1,2}$/, '')
  if (text.length - body.length !== (4 - (body.length % 4)) % 4)
    throw new RangeError('base64 padding is wrong')
  return decode(body, STANDARD)
}

/** URL-safe base64 without padding (RFC 4648 section 5). */
export function toBase64Url(bytes: Uint8Array): string {
  return encode(bytes, URL_SAFE)
}

/** Strict inverse of `toBase64Url`. @throws RangeError unless the text is exactly what `toBase64Url` would write. */
export function fromBase64Url(text: string): Uint8Array {
  return decode(text, URL_SAFE)
}

function encode(bytes: Uint8Array, alphabet: string): string {
  let text = ''
  let buffer = 0
  let bits = 0
  for (const byte of bytes) {
    buffer = ((buffer << 8) | byte) & 0xfff
    bits += 8
    for (; bits >= 6; bits -= 6) text += alphabet.charAt((buffer >> (bits - 6)) & 63)
  }
  return bits > 0 ? text + alphabet.charAt((buffer << (6 - bits)) & 63) : text
}

function decode(text: string, alphabet: string): Uint8Array {
  if (text.length % 4 === 1) throw new RangeError('base64 has an impossible length')
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4))
  let buffer = 0
  let bits = 0
  let at = 0
  for (const character of text) {
    const value = alphabet.indexOf(character)
    if (value < 0) throw new RangeError('base64 holds a foreign character')
    buffer = ((buffer << 6) | value) & 0xfff
    bits += 6
    if (bits < 8) continue
    bits -= 8
    bytes[at++] = (buffer >> bits) & 0xff
  }
  // Left-over bits that are not zero are a second spelling of the same bytes.
  if ((buffer & ((1 << bits) - 1)) !== 0) throw new RangeError('base64 is not in canonical form')
  return bytes
}

/** Do the two hold the same bytes? For public values only: it stops at the first difference. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index])
}
