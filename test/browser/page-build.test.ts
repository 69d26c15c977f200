import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildPage } from '../support/built-page.ts'

describe('the built page', () => {
  let page: Awaited<ReturnType<typeof buildPage>>
  let assets: string[]
  const gzipped = async (ending: string): Promise<number> => {
    const files = assets.filter((name) => name.endsWith(ending))
    expect(files.length).toBeGreaterThan(0)
    const contents = await Promise.all(files.map((name) => readFile(join(page.folder, 'assets', name))))
    return contents.reduce((sum, content) => sum + gzipSync(content, { level: 9 }).length, 0)
  }

  beforeAll(async () => {
    page = await buildPage()
    assets = await readdir(join(page.folder, 'assets'))
  })
  afterAll(() => page.remove())

  it('has at most 40 kB of script and 8 kB of style, gzipped', async () => {
    expect(await gzipped('.js')).toBeLessThanOrEqual(40_000)
    expect(await gzipped('.css')).toBeLessThanOrEqual(8_000)
  })

  it('carries content hashes in all asset names and no source maps', () => {
    for (const name of assets) expect(name).toMatch(/^[\w-]+-[\w-]{8}\.(js|css|svg)$/)
  })

  it('holds no inline script, style, event handler or foreign address in the shell', async () => {
    const html = await readFile(join(page.folder, 'index.html'), 'utf8')
    expect(html).not.toMatch(/<script(?![^>]*\bsrc=)/)
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|https?:\/\//)
    expect(html).toMatch(/<script type="module"[^>]* src="\/assets\/[\w-]+\.js">/)
  })

  it('uses nothing that parses text as HTML or code', async () => {
    for (const name of assets.filter((asset) => asset.endsWith('.js'))) {
      const script = await readFile(join(page.folder, 'assets', name), 'utf8')
      expect(script).not.toMatch(
        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/,
      )
    }
  })
})
