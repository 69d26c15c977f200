import { crc32, deflateRawSync } from 'node:zlib'

/** A file of an archive. */
export interface ZipEntry {
  /** ASCII, with / between folders. */
  name: string
  content: Uint8Array
}

const LOCAL = 0x04034b50
const CENTRAL = 0x02014b50
const END = 0x06054b50
/** ZIP version 2.0, which deflate needs. */
const VERSION = 20
const STORED = 0
const DEFLATED = 8
/** 1 January 1980, the first MS-DOS date: a fixed date, so that the same files make the same bytes. */
const DATE = 0x0021

/**
 * Makes a ZIP archive of a few files (PKWARE APPNOTE.TXT 6.3, §4.3): each deflated, or stored if that is shorter; no extra
 * fields, no ZIP64.
 * @throws Error for a name that is not plain ASCII
 */
export function zipFiles(entries: readonly ZipEntry[]): Buffer {
  const files: Uint8Array[] = []
  const directory: Uint8Array[] = []
  let offset = 0
  for (const { name, content } of entries) {
    if (!/^[\w.-]+(\/[\w.-]+)*$/.test(name)) throw new Error(`cannot be a name in an archive: ${name}`)
    const deflated = deflateRawSync(content, { level: 9 })
    const method = deflated.length < content.length ? DEFLATED : STORED
    const data = method === DEFLATED ? deflated : content
    const facts = factsOf(method, content, data.length, name)
    const file: Uint8Array[] = [numbers([LOCAL, 4]), facts, Buffer.from(name, 'ascii'), data]
    directory.push(
      numbers([CENTRAL, 4], [VERSION, 2]),
      facts,
      // Length of the comment, disk, internal and external attributes, offset of the file.
      numbers([0, 2], [0, 2], [0, 2], [0, 4], [offset, 4]),
      Buffer.from(name, 'ascii'),
    )
    files.push(...file)
    offset += lengthOf(file)
  }
  const size = lengthOf(directory)
  const count = entries.length
  const end = numbers([END, 4], [0, 2], [0, 2], [count, 2], [count, 2], [size, 4], [offset, 4], [0, 2])
  return Buffer.concat([...files, ...directory, end])
}

/** The fields of both headers of a file: version needed, flags, method, time, date, CRC, sizes, lengths of name and extras. */
function factsOf(method: number, content: Uint8Array, stored: number, name: string): Buffer {
  return numbers(
    [VERSION, 2],
    [0, 2],
    [method, 2],
    [0, 2],
    [DATE, 2],
    [crc32(content), 4],
    [stored, 4],
    [content.length, 4],
    [name.length, 2],
    [0, 2],
  )
}

/** Encodes numbers with the given widths in bytes, one after the other, little-endian. */
function numbers(...parts: readonly (readonly [value: number, width: number])[]): Buffer {
  return Buffer.concat(
    parts.map(([value, width]) => {
      const bytes = Buffer.alloc(width)
      bytes.writeUIntLE(value, 0, width)
      return bytes
    }),
  )
}

function lengthOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0)
}
