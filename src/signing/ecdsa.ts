import { type KeyObject, verify } from 'node:crypto'

/** Bytes of each of r and s on P-256. */
const SIZE = 32

/**
 * ECDSA on P-256 with SHA-256, the signature in strict DER: WebCrypto, and libraries on it, take r and s out of whatever looks
 * like DER, so they accept evidence that other verifiers refuse. r and s from the order on fail in the platform.
 */
export function verifyEcdsa(key: KeyObject, message: Uint8Array, der: Uint8Array): boolean {
  const signature = fixedSize(der)
  return signature !== undefined && verify('sha256', message, { key, dsaEncoding: 'ieee-p1363' }, signature)
}

/** r and s one after the other; undefined unless the bytes are exactly `SEQUENCE { INTEGER r, INTEGER s }`, both above 0. */
function fixedSize(der: Uint8Array): Uint8Array | undefined {
  const r = integerAt(der, 2)
  if (der[0] !== 0x30 || der[1] !== der.length - 2 || r === undefined) return undefined
  const s = integerAt(der, 4 + r.length)
  if (s === undefined || 6 + r.length + s.length !== der.length) return undefined
  const signature = new Uint8Array(2 * SIZE)
  for (const [end, integer] of [[SIZE, r] as const, [2 * SIZE, s] as const]) {
    const digits = integer[0] === 0 ? integer.subarray(1) : integer
    if (digits.length > SIZE) return undefined
    signature.set(digits, end - digits.length)
  }
  return signature
}

/** Content of the INTEGER there: above 0, a leading zero byte only where the sign needs one. */
function integerAt(der: Uint8Array, at: number): Uint8Array | undefined {
  const length = der[at + 1] ?? 0
  const bytes = der.subarray(at + 2, at + 2 + length)
  const [first = 0x80, second = 0] = bytes
  const shortest = first === 0 ? second >= 0x80 : first < 0x80
  return der[at] === 0x02 && bytes.length === length && shortest ? bytes : undefined
}
