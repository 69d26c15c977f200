/** What authenticators write: integers, bytes, texts, lists and maps (RFC 8949, canonical lengths). */
export type Cbor = number | string | Uint8Array | Cbor[] | Map<number | string, Cbor>

/** Encodes a value as CTAP2 canonical CBOR; map keys keep their order. */
export function encodeCbor(value: Cbor): Buffer {
  if (typeof value === 'number') return value >= 0 ? head(0, value) : head(1, -1 - value)
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value])
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(encodeCbor)])
  const members = [...value].flatMap(([key, item]) => [encodeCbor(key), encodeCbor(item)])
  return Buffer.concat([head(5, value.size), ...members])
}

function head(major: number, length: number): Buffer {
  const type = major << 5
  if (length < 24) return Buffer.from([type | length])
  if (length < 0x100) return Buffer.from([type | 24, length])
  if (length < 0x10000) return Buffer.from([type | 25, length >> 8, length & 0xff])
  const long = Buffer.alloc(5)
  long.writeUInt8(type | 26)
  long.writeUInt32BE(length, 1)
  return long
}
