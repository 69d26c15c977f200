import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Drivers' optional parts that are not installed: the driver asks for them and does without. */
const OPTIONAL = [
  '@aws-sdk/credential-providers',
  '@mongodb-js/zstd',
  'aws4',
  'gcp-metadata',
  'kerberos',
  'mongodb-client-encryption',
  'snappy',
  'socks',
]

/** The interface as a page: a quarter of a second's work, with zod-openapi, that no service need do. */
const docsPage = {
  name: 'docs-page',
  async writeBundle() {
    // Node would not load them again after a change: the page stays as `npm run dev` found it.
    if (this.meta.watchMode) return
    const { buildOpenApi } = await import('../dist/src/http/openapi.js')
    const { renderDocs } = await import('../dist/src/http/docs/page.js')
    const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
    writeFileSync(`${root}dist/service/docs.html`, renderDocs(buildOpenApi(version)))
  },
}

/** Without what zod brings and nobody uses here, which every process would read: 0.5 MB. */
const lessZod = {
  name: 'less-zod',
  enforce: 'pre',
  resolveId(id, importer = '') {
    // Its messages in sixty languages, of which English is in use.
    if (id === '../locales/index.js' && importer.includes('/zod/v4/')) return '\0zod-locales'
    // Four packages of the Teams bot bring the same version, each its own copy.
    return id === 'zod' && /\/node_modules\/bot[a-z-]+\/lib\//.test(importer)
      ? this.resolve(id, `${root}node_modules/botframework-schema/lib/index.js`)
      : undefined
  },
  load: (id) => (id === '\0zod-locales' ? "export { default as en } from 'zod/v4/locales/en.js'" : undefined),
}

/** Without the types of a thousand kinds of file: no mail has an attachment. */
const lessMail = {
  name: 'less-mail',
  enforce: 'pre',
  load: (id) =>
    id.endsWith('/nodemailer/dist/esm/mime-funcs/mime-types.js')
      ? "export const detectMimeType = () => 'application/octet-stream'; export const detectExtension = () => 'bin'"
      : undefined,
}

/** Without the tables of Chinese, Japanese and Korean encodings: JSON is UTF-8 (RFC 8259 §8.1), and no form is read in another. */
const lessTables = {
  name: 'less-tables',
  enforce: 'pre',
  load: (id) => (id.endsWith('/iconv-lite/encodings/dbcs-data.js') ? 'module.exports = {}' : undefined),
}

/** Texts of licenses shorter than this are repeated where they belong. */
const LONG = 100

/** Writes each long paragraph of the licenses once: fifty packages bring the same words. Every notice of copyright stays. */
const licensesOnce = {
  name: 'licenses-once',
  writeBundle() {
    const path = `${root}dist/service/licenses.md`
    const paragraphs = readFileSync(path, 'utf8').split(/\n{2,}/)
    const wordsOf = (text) => text.split(/\s+/).join(' ').trim()
    const long = (text) => text.length >= LONG && !/copyright \(c\)|©/i.test(text)
    const uses = new Map()
    for (const text of paragraphs.filter(long))
      uses.set(wordsOf(text), [...(uses.get(wordsOf(text)) ?? []), text])
    const texts = [...uses].filter(([, same]) => same.length > 1).map(([words]) => words)
    const shown = paragraphs.map((text) => {
      const at = long(text) ? texts.indexOf(wordsOf(text)) : -1
      return at < 0 ? text : `(Text ${at + 1}, at the end.)`
    })
    const written = texts.map((words, at) => `### Text ${at + 1}\n\n${uses.get(words)[0]}`)
    writeFileSync(
      path,
      `${[...shown, '## Texts that several of them have', ...written].join('\n\n').trim()}\n`,
    )
  },
}

/**
 * The service and the command line with all they import in a few files: finding, reading and linking 1 500 modules one by one
 * was half of what a start costs. What is imported later (a chat platform, a command) stays a file of its own. The embedded
 * store runs in a worker and has a native part, so it stays a package.
 */
export default defineConfig({
  root,
  publicDir: false,
  plugins: [docsPage, licensesOnce, lessZod, lessMail, lessTables],
  resolve: {
    alias: {
      tr46: fileURLToPath(new URL('domain-names.mjs', import.meta.url)),
      '@azure/identity': fileURLToPath(new URL('no-managed-identity.mjs', import.meta.url)),
    },
  },
  ssr: { noExternal: true, external: ['libsql', ...OPTIONAL] },
  build: {
    ssr: true,
    outDir: 'dist/service',
    emptyOutDir: true,
    license: { fileName: 'licenses.md' },
    target: 'node20',
    minify: false,
    sourcemap: true,
    rolldownOptions: {
      input: {
        main: 'src/main.ts',
        cli: 'src/cli/run-cli.ts',
        caller: 'packages/client/cli/run-caller.ts',
        'store-worker': 'embedded-mongo/dist/store-worker.js',
      },
      // It would drop a call of a built-in whose result is not used, as in `try { decodeURIComponent(text) }`, though it may throw.
      treeshake: false,
      output: {
        entryFileNames: '[name].js',
        chunkFileNames: '[name]-[hash].js',
        // Without comments and indentation, but with every name: what is smaller is read sooner, and stacks stay readable.
        // The engine holds a text with any letter beyond Latin-1 in two bytes for each of its letters.
        charset: 'ascii',
        minify: { compress: false, mangle: { keepNames: { function: true, class: true } }, codegen: true },
      },
    },
  },
})
