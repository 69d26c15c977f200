/** Standard base64 with padding (RFC 4648 section 4). */
export function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return btoa(binary)
}

/**
 * Strict inverse of `toBase64`. A lenient decoder accepts many spellings of one signature, each of which would pass as a
 * different receipt.
 * @throws RangeError unless the text is exactly what `toBase64` would write.
 */
export function fromBase64(text: string): Uint8Array {
  return decode(text, toBase64)
}

/** URL-safe base64 without padding (RFC 4648 section 5). */
export function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** Strict inverse of `toBase64Url`. @throws RangeError unless the text is exactly what `toBase64Url` would write. */
export function fromBase64Url(text: string): Uint8Array {
  return decode(text, toBase64Url)
}

function decode(text: string, encode: (bytes: Uint8Array) => string): Uint8Array {
  let binary: string
  try {
    binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  } catch (cause) {
    throw new RangeError('not base64', { cause })
  }
  const bytes = new Uint8Array(binary.length)
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at)
  // The platform also accepts white space, missing padding and left-over bits, which are second spellings of the same bytes.
  if (encode(bytes) !== text) throw new RangeError('base64 is not in canonical form')
  return bytes
}

/** Checks whether both hold the same bytes. For public values only: it stops at the first difference. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index])
}
