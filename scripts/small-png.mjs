import { crc32, deflateSync, inflateSync } from 'node:zlib'

export const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

const COMMON_COLOURS = 96
const MOST_COLOURS = 256

/**
 * Rewrites a browser's screenshot with a palette: a third of the size. Reads what Chromium writes, 8-bit RGB or RGBA
 * without interlacing (PNG, third edition, §11).
 */
export function smallPng(png) {
  const { width, height, pixels } = decode(png)
  const colours = Array.from({ length: width * height }, (_, at) => pixels.readUIntBE(at * 3, 3))
  const counts = new Map()
  for (const colour of colours) counts.set(colour, (counts.get(colour) ?? 0) + 1)
  const { palette, places } = paletteOf([...counts].sort((a, b) => b[1] - a[1]).map(([colour]) => colour))
  const rows = Buffer.alloc(height * (width + 1))
  colours.forEach((colour, at) => {
    rows[at + Math.floor(at / width) + 1] = places.get(colour)
  })
  return encode(width, height, palette, rows)
}

/** The commonest colours as they are, then always the one that is farthest from all so far; the rest takes the nearest. */
function paletteOf(byFrequency) {
  const palette = byFrequency.slice(0, COMMON_COLOURS)
  const nearest = byFrequency.map((colour) => closest(palette, colour))
  while (palette.length < Math.min(MOST_COLOURS, byFrequency.length)) {
    const farthest = nearest.reduce((best, { far }, at) => (far > nearest[best].far ? at : best), 0)
    if (nearest[farthest].far === 0) break
    const added = byFrequency[farthest]
    byFrequency.forEach((colour, at) => {
      const far = distance(added, colour)
      if (far < nearest[at].far) nearest[at] = { place: palette.length, far }
    })
    palette.push(added)
  }
  return { palette, places: new Map(byFrequency.map((colour, at) => [colour, nearest[at].place])) }
}

function closest(palette, colour) {
  const far = palette.map((other) => distance(other, colour))
  const place = far.indexOf(Math.min(...far))
  return { place, far: far[place] }
}

function distance(one, other) {
  return [16, 8, 0].reduce((sum, shift) => sum + (((one >> shift) & 255) - ((other >> shift) & 255)) ** 2, 0)
}

function decode(png) {
  const chunks = []
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    const start = at + 8
    chunks.push({
      type: png.toString('latin1', at + 4, start),
      data: png.subarray(start, start + png.readUInt32BE(at)),
    })
  }
  const head = chunks.find(({ type }) => type === 'IHDR').data
  const [width, height, channels] = [head.readUInt32BE(0), head.readUInt32BE(4), { 2: 3, 6: 4 }[head[9]]]
  if (head[8] !== 8 || channels === undefined || head[12] !== 0)
    throw new Error('not a screenshot of Chromium')
  const raw = inflateSync(Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data)))
  return { width, height, pixels: opaque(unfilter(raw, width * channels, height, channels), channels) }
}

/** Undoes the filters of every line (§9). */
function unfilter(raw, stride, height, channels) {
  const out = Buffer.alloc(stride * height)
  for (let y = 0; y < height; y += 1) {
    const filter = raw[y * (stride + 1)]
    for (let x = 0; x < stride; x += 1) {
      const at = y * stride + x
      const left = x >= channels ? out[at - channels] : 0
      const up = y > 0 ? out[at - stride] : 0
      const corner = x >= channels && y > 0 ? out[at - stride - channels] : 0
      out[at] =
        raw[y * (stride + 1) + 1 + x] + [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter]
    }
  }
  return out
}

function paeth(left, up, corner) {
  const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)]
  if (a <= b && a <= c) return left
  return b <= c ? up : corner
}

function opaque(pixels, channels) {
  return channels === 3 ? pixels : pixels.filter((_, at) => at % 4 !== 3)
}

function encode(width, height, colours, rows) {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, 3, 0, 0, 0], 8)
  const palette = Buffer.from(colours.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]))
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', head),
    chunk('PLTE', palette),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** A chunk as it stands in the file (PNG, third edition, §5.3). */
export function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const framed = Buffer.alloc(body.length + 8)
  framed.writeUInt32BE(data.length, 0)
  body.copy(framed, 4)
  framed.writeUInt32BE(crc32(body), body.length + 4)
  return framed
}
