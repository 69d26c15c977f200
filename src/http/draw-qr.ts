import { toString as draw } from 'qrcode'

/** Draws a text as a QR code in SVG: here, so that the page needs no code for it. */
export function drawQr(text: string): Promise<string> {
  return draw(text, { type: 'svg', errorCorrectionLevel: 'M', margin: 2 })
}
