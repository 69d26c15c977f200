// What both page builds have in common; webauthn-page/vite.config.ts and dashboard/vite.config.ts differ in the folder.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'

const brotlied = promisify(brotliCompress)
const gzipped = promisify(gzip)

/** Compresses each asset once, here, as hard as possible, so that no answer has to; the service picks by Accept-Encoding. */
const compressAssets = {
  name: 'compress-assets',
  apply: 'build',
  async writeBundle({ dir = '' }, bundle) {
    const names = Object.keys(bundle).filter((name) => name.startsWith('assets/'))
    await Promise.all(
      names.map(async (name) => {
        const file = join(dir, name)
        const content = await readFile(file)
        await writeFile(`${file}.br`, await brotlied(content))
        await writeFile(`${file}.gz`, await gzipped(content, { level: 9 }))
      }),
    )
  },
}

/**
 * Puts the script of the theme into the page's head, as a file: it must run before anything is drawn, when no module does, and the
 * policy allows no script inside the page.
 */
const themeFirst = () => {
  const source = readFileSync(new URL('../webauthn-page/kit/theme.js', import.meta.url), 'utf8')
  const fileName = `assets/theme-${createHash('sha256').update(source).digest('base64url').slice(0, 8)}.js`
  return {
    name: 'theme-first',
    apply: 'build',
    buildStart() {
      this.emitFile({ type: 'asset', fileName, source })
    },
    transformIndexHtml: (html) =>
      html.replace('<title>', `<script src="/${fileName}"></script>\n    <title>`),
  }
}

/**
 * Loads a file without Vite's helper, which would preload what that file imports: for pages whose files import nothing but the
 * toolkit, which is there already, the helper is 0.6 kB that does nothing.
 */
export const noPreload = {
  name: 'no-preload',
  enforce: 'pre',
  load: (id) => (id === '\0vite/preload-helper.js' ? 'export const __vitePreload = (load) => load()' : null),
}

/** The oldest browsers that the pages run in; `test/browser/page-build.test.ts` names what these lack. */
const OLDEST = ['safari16', 'chrome109', 'firefox115']

/** What nearly every page needs: one file that comes with the shell, not a dozen small ones after it. */
const TOOLKIT =
  /webauthn-page[\\/]kit[\\/](dom[\\/](?!dialog)|api|show[\\/]caller-text)|src[\\/]domain[\\/](?:search|text|text-direction|text-scripts|request)\.ts/
/** Nearly every page of the dashboard also has these; of the hosted pages, none that is loaded first. */
const PARTS = /dom[\\/]dialog|dashboard[\\/]parts[\\/]section/

const toolkit = (folder) => ({
  name: 'toolkit',
  test: folder === 'dashboard' ? new RegExp(`${TOOLKIT.source}|${PARTS.source}`) : TOOLKIT,
  minShareCount: 2,
})

/** The words of a request's timeline: together with the code that shows it, they would be too much for one file. */
const words = { name: 'audit-words', test: /dashboard[\\/]audit[\\/]audit-words/ }

/**
 * The Vite configuration of the pages in `folder`, built to `dist/<folder>`. Nothing is inlined (no data: script, no
 * inline style, no polyfill preamble), so they run under `script-src 'self'; style-src 'self'` and `trusted-types 'none'`.
 * What is in `publicDir` keeps its name; `more` are further plugins.
 */
export function pageBuild(folder, publicDir = false, more = []) {
  return {
    root: fileURLToPath(new URL(`../${folder}/`, import.meta.url)),
    base: '/',
    publicDir,
    plugins: [themeFirst(), compressAssets, ...more],
    build: {
      outDir: fileURLToPath(new URL(`../dist/${folder}`, import.meta.url)),
      emptyOutDir: true,
      target: OLDEST,
      sourcemap: false,
      assetsInlineLimit: 0,
      cssCodeSplit: false,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      rolldownOptions: {
        output: {
          codeSplitting: { groups: [toolkit(folder), ...(folder === 'dashboard' ? [] : [words])] },
        },
      },
    },
  }
}
