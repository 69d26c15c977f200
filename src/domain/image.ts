type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'

/** A file of a few kB can declare so many pixels that the browser of an approver stands still while it draws them. */
const MOST_PIXELS = 20_000_000
const LONGEST_SIDE = 16_384

interface Size {
  width: number
  height: number
}

/**
 * Returns the type of a picture by its first bytes; undefined for everything else, also for a picture whose size is not where its format
 * says, or is more than 20 million pixels or 16,384 on a side.
 */
export function imageType(bytes: Uint8Array): ImageType | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const head = String.fromCharCode(...bytes.subarray(0, 16))
  try {
    for (const [start, type, read] of FORMATS) {
      if (!start.test(head)) continue
      const { width, height } = read(view) ?? { width: 0, height: 0 }
      const fits = Math.max(width, height) <= LONGEST_SIDE && width * height <= MOST_PIXELS
      return fits && width * height > 0 ? type : undefined
    }
  } catch {
    // Ends before its size.
  }
  return undefined
}

type Read = (view: DataView) => Size | undefined

/** By their first bytes, as Latin-1. SVG is none of them: it can hold scripts. */
const FORMATS: readonly (readonly [start: RegExp, ImageType, Read])[] = [
  // Decoders take IHDR first, and nothing else (PNG, third edition, section 5.6).
  [
    /^\x89PNG\r\n.\n....IHDR/s,
    'image/png',
    (view) => ({ width: view.getUint32(16), height: view.getUint32(20) }),
  ],
  [/^\xff\xd8\xff/, 'image/jpeg', readJpeg],
  [/^GIF8[79]a/, 'image/gif', readGif],
  [/^RIFF....WEBPVP8[ LX]/s, 'image/webp', readWebp],
]

/** From the first frame header (ITU-T T.81, B.2.2): what follows it is the picture. */
function readJpeg(view: DataView): Size | undefined {
  for (let at = 2; ; ) {
    if (view.getUint8(at) !== 0xff) return undefined
    const marker = view.getUint8(at + 1)
    if (marker === 0xff) {
      at += 1
      continue
    }
    // All but the tables of Huffman and arithmetic coding.
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) }
    if (marker === 0xd9 || marker === 0xda) return undefined
    const hasLength = !(marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8))
    at += 2 + (hasLength ? view.getUint16(at + 2) : 0)
  }
}

/** The screen, or the first frame where that is larger: browsers then enlarge the screen. */
function readGif(view: DataView): Size | undefined {
  const screen = { width: view.getUint16(6, true), height: view.getUint16(8, true) }
  const flags = view.getUint8(10)
  let at = 13 + (flags & 0x80 ? 3 << ((flags & 7) + 1) : 0)
  while (view.getUint8(at) === 0x21) {
    at += 2
    while (view.getUint8(at) > 0) at += 1 + view.getUint8(at)
    at += 1
  }
  if (view.getUint8(at) !== 0x2c) return undefined
  const [left, top] = [view.getUint16(at + 1, true), view.getUint16(at + 3, true)]
  return {
    width: Math.max(screen.width, left + view.getUint16(at + 5, true)),
    height: Math.max(screen.height, top + view.getUint16(at + 7, true)),
  }
}

/** RFC 9649: lossy, lossless, or with features. */
function readWebp(view: DataView): Size | undefined {
  const kind = String.fromCharCode(view.getUint8(15))
  if (kind === 'X') {
    // Of three bytes each.
    return { width: 1 + (view.getUint32(24, true) & 0xffffff), height: 1 + (view.getUint32(26, true) >>> 8) }
  }
  if (kind === 'L') {
    const bits = view.getUint32(21, true)
    return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) }
  }
  return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff }
}
