// Draws the mark of webauthn-page/kit/favicon.svg as the icons of the Teams app, deploy/teams/color.png and outline.png, and of
// the dashboard on a home screen, dashboard/public/icons: a square that a phone may crop to a circle.
// What Teams wants (https://learn.microsoft.com/microsoftteams/platform/concepts/build-and-test/apps-package): in colour
// 192×192, a symbol of 96×96 on one solid square, which Teams crops; the outline 32×32, nothing but white, no padding.
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { deflateSync } from 'node:zlib'
import { chunk, SIGNATURE } from './small-png.mjs'

const GREEN = [0x0f, 0x5c, 0x46]
const WHITE = [255, 255, 255]
const MINT = [0x8f, 0xd8, 0xbb]

/** Lines with round ends, in the units of the favicon. */
const TICK = {
  width: 3.2,
  points: [
    [8.5, 16.5],
    [13.5, 21.5],
    [23.5, 10.5],
  ],
}
const RULE = {
  width: 2.2,
  points: [
    [8, 25.5],
    [24, 25.5],
  ],
}
/** What they cover: centre, and the longer side. */
const MARK = { x: 16, y: 17.75, side: 18.2 }

const folder = fileURLToPath(new URL('../deploy/teams/', import.meta.url))
mkdirSync(folder, { recursive: true })
writeFileSync(`${folder}color.png`, pngOf(192, colour))
writeFileSync(`${folder}outline.png`, pngOf(32, outline))

const icons = fileURLToPath(new URL('../dashboard/public/icons/', import.meta.url))
mkdirSync(icons, { recursive: true })
for (const size of [192, 512])
  writeFileSync(
    `${icons}icon-${size}.png`,
    pngOf(size, (x, y) => colour(x, y, size)),
  )

/** Opaque. */
function colour(x, y, size = 192) {
  const place = placed(x, y, size, size / 2)
  const ruled = mixed(GREEN, MINT, coverage(RULE, place))
  return [...mixed(ruled, WHITE, coverage(TICK, place)), 255]
}

/** White everywhere; only how much of it differs. */
function outline(x, y) {
  const place = placed(x, y, 32, 32)
  return [...WHITE, Math.round(255 * Math.max(coverage(TICK, place), coverage(RULE, place)))]
}

/** The middle of a pixel in the favicon's units, and how large such a unit is, when the mark fills `symbol` pixels. */
function placed(x, y, size, symbol) {
  const scale = symbol / MARK.side
  return { x: (x + 0.5 - size / 2) / scale + MARK.x, y: (y + 0.5 - size / 2) / scale + MARK.y, scale }
}

/** How much of the pixel the line covers, from 0 to 1. */
function coverage({ width, points }, { x, y, scale }) {
  const far = Math.min(...points.slice(1).map((to, at) => distance(x, y, points[at], to)))
  return Math.min(1, Math.max(0, (width / 2 - far) * scale + 0.5))
}

/** From a point to a piece of a line. */
function distance(x, y, [x1, y1], [x2, y2]) {
  const along = ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / ((x2 - x1) ** 2 + (y2 - y1) ** 2)
  const at = Math.min(1, Math.max(0, along))
  return Math.hypot(x - x1 - at * (x2 - x1), y - y1 - at * (y2 - y1))
}

function mixed(below, above, share) {
  return below.map((value, at) => Math.round(value + (above[at] - value) * share))
}

/** 8-bit RGBA (PNG, third edition, §11). */
function pngOf(size, paint) {
  const rows = Array.from({ length: size }, (_, y) => [
    0,
    ...Array.from({ length: size }, (_, x) => paint(x, y)).flat(),
  ])
  const head = Buffer.alloc(13)
  head.writeUInt32BE(size, 0)
  head.writeUInt32BE(size, 4)
  head.set([8, 6, 0, 0, 0], 8)
  const data = deflateSync(Buffer.from(rows.flat()), { level: 9 })
  return Buffer.concat([SIGNATURE, chunk('IHDR', head), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))])
}
