import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { packagePath } from '../../src/config/package-path.ts'
import { BUILT_DASHBOARD, BUILT_PAGE } from '../support/page-server.ts'

/** The compiler knows the language's own (`lib` in tsconfig.json); these are the browsers', and what packages bring along. */
const MISSING_IN_SCRIPTS = [
  /\.(canParse|withResolvers|groupBy|fromAsync|toSorted|toReversed|toSpliced|toWellFormed)\b/,
  /\b(AbortSignal\.any|URL\.parse|Promise\.try|RegExp\.escape|Iterator\.from|requestIdleCallback|scheduler\.)/,
  /\.(checkVisibility|showPopover|togglePopover|requestClose|setHTML|setHTMLUnsafe|startViewTransition)\b/,
  /\.(isSubsetOf|isSupersetOf|isDisjointFrom|symmetricDifference|toBase64|toHex|setFromBase64)\b|\bfromBase64\b/,
  /\b(CloseWatcher|DurationFormat|Temporal|CookieStore|cookieStore|URLPattern|Float16Array)\b/,
  // `URLSearchParams.size`, unlike that of a set.
  /\b(\w+)=new URLSearchParams\b.{0,150}?\b\1\.size\b/,
  // Of syntax, the bundler can lower all but these.
  /\(\?<[=!]/,
]
/** The dashboard also uses `:has`, where its rule may be missing. */
const MISSING_IN_PAGE_STYLES = [/:has\(/]
const MISSING_IN_STYLES = [
  /@scope|@starting-style|@property|color-mix\(|light-dark\(|oklch\(|anchor\(|:popover-open/,
  // Nested rules.
  /&/,
]

const BUILT_WORKER = packagePath('dist/service-worker/sw.js')
const COMPRESSED = /\.(br|gz)$/

describe.each([
  ['hosted pages', BUILT_PAGE],
  ['dashboard', BUILT_DASHBOARD],
])('the built %s', (_, folder) => {
  let written: string[]
  let assets: string[]
  const read = (name: string): Promise<Buffer> => readFile(join(folder, 'assets', name))
  beforeAll(async () => {
    written = await readdir(join(folder, 'assets'))
    assets = written.filter((name) => !COMPRESSED.test(name))
  })

  it('has each asset in three forms that are the same file, the smallest as Brotli', async () => {
    expect(written.toSorted()).toEqual(
      assets.flatMap((name) => [name, `${name}.br`, `${name}.gz`]).toSorted(),
    )
    for (const name of assets) {
      const [plain, brotli, gzip] = await Promise.all([read(name), read(`${name}.br`), read(`${name}.gz`)])
      expect(brotliDecompressSync(brotli).equals(plain)).toBe(true)
      expect(gunzipSync(gzip).equals(plain)).toBe(true)
      // So little text has nothing that repeats itself.
      if (plain.length < 150) continue
      expect(brotli.length).toBeLessThan(gzip.length)
      expect(gzip.length).toBeLessThan(plain.length)
    }
  })

  it('carries content hashes in all asset names and no source maps', () => {
    for (const name of assets) expect(name).toMatch(/^[\w-]+-[\w-]{8}\.(js|css|svg)$/)
  })

  it('holds no inline script, style, event handler or foreign address in the shell', async () => {
    const html = await readFile(join(folder, 'index.html'), 'utf8')
    expect(html).not.toMatch(/<script(?![^>]*\bsrc=)/)
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|https?:\/\//)
    // The keyboard of a phone makes the window smaller, and covers no bar at its lower edge.
    expect(html).toMatch(/<meta name="viewport" [^>]*viewport-fit=cover, interactive-widget=resizes-content"/)
    expect(html).toMatch(/<script type="module"[^>]* src="\/assets\/[\w-]+\.js">/)
  })

  it('uses nothing that the oldest supported browsers lack: Safari 16.0, Chrome 109, Firefox 115', async () => {
    for (const name of assets.filter((asset) => /\.(js|css)$/.test(asset))) {
      const content = (await read(name)).toString('utf8')
      const styles =
        folder === BUILT_PAGE ? [...MISSING_IN_STYLES, ...MISSING_IN_PAGE_STYLES] : MISSING_IN_STYLES
      for (const missing of name.endsWith('.js') ? MISSING_IN_SCRIPTS : styles) {
        expect(content.match(missing)?.[0], `${name}: ${missing}`).toBe(undefined)
      }
    }
    if (folder === BUILT_DASHBOARD) {
      const worker = await readFile(BUILT_WORKER, 'utf8')
      for (const missing of MISSING_IN_SCRIPTS) expect(worker).not.toMatch(missing)
    }
  })

  it('says so to browsers that cannot read the script, without any', async () => {
    const html = await readFile(join(folder, 'index.html'), 'utf8')
    expect(html).toMatch(/Loading…<\/p>\s*<p class="loading too-old">[^<]*Safari or iOS 16[^<]*<\/p>/)
    const styles = await Promise.all(assets.filter((asset) => asset.endsWith('.css')).map(read))
    // Hidden by a delay: an animation that runs costs a style of the whole page for every frame of its load.
    expect(String(styles)).toMatch(/\.too-old\{[^}]*animation:1ms 8s backwards too-old\}/)
  })

  it('uses nothing that parses text as HTML or code', async () => {
    for (const name of assets.filter((asset) => asset.endsWith('.js'))) {
      const script = (await read(name)).toString('utf8')
      expect(script).not.toMatch(
        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/,
      )
    }
  })
})

describe('the size of what is loaded first', () => {
  const gzipped = async (folder: string, pattern: RegExp): Promise<number> => {
    const files = (await readdir(join(folder, 'assets'))).filter((name) => pattern.test(name))
    expect(files.length).toBeGreaterThan(0)
    const contents = await Promise.all(files.map((name) => readFile(join(folder, 'assets', name))))
    return contents.reduce((sum, content) => sum + content.length, 0)
  }

  it('is at most 32 kB of script and 8 kB of style for a hosted page, gzipped, and 4 kB of script later', async () => {
    const files = (await readdir(join(BUILT_PAGE, 'assets'))).filter((name) => name.endsWith('.js'))
    const main = files.find((name) => /^index-[\w-]+\.js$/.test(name)) ?? expect.unreachable()
    const script = await readFile(join(BUILT_PAGE, 'assets', main), 'utf8')
    const first = [
      main,
      ...[...script.matchAll(/(?:from|import)\s*"\.\/([\w.-]+)"/g)].map(([, name = '']) => name),
    ]
    const later = files
      .filter((name) => !first.includes(name))
      .map((name) => name.replace(/-[\w-]{8}\.js$/, ''))
    expect(later.sort()).toEqual([
      ...[
        'addresses',
        'attachment-view',
        'audit-words',
        'authenticator-app',
        'consent-page',
        'decision-proof',
      ],
      ...[
        'dialog',
        'enrol-page',
        'first-page',
        'invitations',
        'link-page',
        'navigation',
        'precedents',
        'request-log',
        'request-past',
      ],
      ...['section', 'theme'],
    ])
    const size = async (names: readonly string[]) =>
      (await Promise.all(names.map((name) => readFile(join(BUILT_PAGE, 'assets', `${name}.gz`))))).reduce(
        (sum, { length }) => sum + length,
        0,
      )
    expect(await size(first)).toBeLessThanOrEqual(32_000)
    for (const name of files.filter((one) => !first.includes(one)))
      expect(await size([name]), name).toBeLessThanOrEqual(4_000)
    expect(await gzipped(BUILT_PAGE, /\.css\.gz$/)).toBeLessThanOrEqual(8_000)
  })

  it('is at most 26 kB of script for the inbox and 12 kB of style, gzipped', async () => {
    const [main = ''] = (await readdir(join(BUILT_DASHBOARD, 'assets'))).filter((name) =>
      /^index-[\w-]+\.js$/.test(name),
    )
    const imports = (await readFile(join(BUILT_DASHBOARD, 'assets', main), 'utf8')).matchAll(
      /(?:from|import)\s*"\.\/(\w+)-/g,
    )
    expect([...new Set([...imports].map(([, name]) => name))], 'comes with the shell').toEqual(['toolkit'])
    expect(await gzipped(BUILT_DASHBOARD, /^(index|toolkit)-[\w-]+\.js\.gz$/)).toBeLessThanOrEqual(26_000)
    expect(await gzipped(BUILT_DASHBOARD, /\.css\.gz$/)).toBeLessThanOrEqual(12_000)
  })
})
