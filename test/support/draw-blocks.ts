import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { type Block, Message } from 'slack-blocks-to-jsx'

const css = readFileSync(createRequire(import.meta.url).resolve('slack-blocks-to-jsx/dist/style.css'), 'utf8')

const LOGO =
  'data:image/svg+xml,%3Csvg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 36 36"%3E%3Crect width="36" height="36" rx="8" fill="%231d4ed8"/%3E%3Cpath d="M10 19l6 6 11-14" fill="none" stroke="white" stroke-width="4"/%3E%3C/svg%3E'

const square = (colour: string, path: string) =>
  `<svg viewBox="0 0 20 20" width="0.95em" height="0.95em" style="display:inline;vertical-align:-0.1em"><rect width="20" height="20" rx="4" fill="${colour}"/><path d="${path}" fill="none" stroke="white" stroke-width="3"/></svg>`

/** Chat platforms draw emoji as pictures of their own; here most machines have no font for them, and would show empty boxes. */
export const EMOJI: Readonly<Record<string, string>> = {
  '✅': square('#2f9e5b', 'M5 10.5l3.5 3.5 6.5-8'),
  '❌': square('#c5303c', 'M5.5 5.5l9 9m0-9l-9 9'),
  '⌛': square('#8a6d1f', 'M6 4.5h8l-8 11h8z'),
  '⛔': square('#c5303c', 'M4.5 10h11'),
  '⏳': square('#8a6d1f', 'M6 15.5h8l-8 -11h8z'),
  '🧪': square('#5b5fc7', 'M7.5 4.5h5m-4 0v11h3v-11'),
  '🔔': square('#8a6d1f', 'M5 13.5h10m-8 0v-4a3 3 0 0 1 6 0v4'),
  '❔': square('#616161', 'M7 8a3 3 0 1 1 3 3v1.5m0 1.5v2'),
}

/** A message as Slack would draw it, by a renderer that is not ours. `blocks`: as they go over the wire. */
export function drawBlocks(blocks: object[], theme: 'light' | 'dark'): string {
  const sent: Block[] = JSON.parse(JSON.stringify(blocks))
  const time = new Date('2026-09-14T13:15:00.000Z')
  const markup = renderToStaticMarkup(
    createElement(Message, { blocks: sent, name: 'Countersign', logo: LOGO, time, theme }),
  )
  return Object.entries(EMOJI).reduce((html, [sign, svg]) => html.replaceAll(sign, svg), markup)
}

/** A page around drawn messages. */
export function pageOf(markup: string, theme: 'light' | 'dark'): string {
  const ground = theme === 'light' ? '#ffffff' : '#1a1d21'
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Card</title><style>${css}
    body { margin: 0; padding: 14px; background: ${ground}; }</style><body>${markup}</body></html>`
}
