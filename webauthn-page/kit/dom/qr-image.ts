import { el } from './element.ts'

/** A QR code as an `<img>`: there an SVG cannot run script or load anything, whatever it holds. */
export function qrImage(svg: string, alt: string): HTMLImageElement {
  const src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`
  return el('img', { class: 'qr', width: 200, height: 200, alt, src })
}
