// Draws docs/cards: a card in its six states, light and dark, as an independent renderer of Slack's blocks and Microsoft's
// renderer of Adaptive Cards show it.
// docs/cards/drawn.json remembers what was drawn; a test compares it with what the code draws now.
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { runnerImport } from 'vite'
import { smallPng } from './small-png.mjs'

process.env.TZ = 'UTC'
const root = fileURLToPath(new URL('..', import.meta.url))
const { module } = await runnerImport(`${root}test/support/card-pictures.ts`, { root, configFile: false })

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
  ],
})
mkdirSync(`${root}docs/cards`, { recursive: true })
let bytes = 0
for (const { file, html, width } of [...module.slackPictures(), ...module.teamsPictures()]) {
  const page = await browser.newPage({ viewport: { width, height: 400 } })
  await page.setContent(html)
  const picture = smallPng(await page.locator('body').screenshot())
  writeFileSync(`${root}docs/cards/${file}`, picture)
  bytes += picture.length
  await page.close()
}
await browser.close()
writeFileSync(`${root}docs/cards/drawn.json`, `${JSON.stringify(module.drawnNow(), null, 2)}\n`)
process.stdout.write(`${Math.round(bytes / 1000)} kB of pictures in docs/cards\n`)
