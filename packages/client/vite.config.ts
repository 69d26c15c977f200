import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { isolatedDeclarationSync } from 'rolldown/experimental'
import { defineConfig, type Plugin } from 'vite'

const root = fileURLToPath(new URL('.', import.meta.url))

/** The types of every source, each made of that file alone; tsc holds the sources to it (`isolatedDeclarations`). */
const types: Plugin = {
  name: 'types',
  generateBundle() {
    for (const file of readdirSync(`${root}src`)) {
      const { code, errors } = isolatedDeclarationSync(file, readFileSync(`${root}src/${file}`, 'utf8'))
      if (errors.length > 0) this.error(errors.map(({ message }) => `${file}: ${message}`).join('\n'))
      const fileName = file.replace(/\.ts$/, '.d.ts')
      this.emitFile({ type: 'asset', fileName, source: code.replace(/(from "\.\/[\w-]+)\.ts"/g, '$1.js"') })
    }
  },
}

/** A line for each function: Node prints the whole line in which an error that nobody caught was thrown. */
const lines: Plugin = {
  name: 'lines',
  generateBundle(_, bundle) {
    for (const file of Object.values(bundle))
      if (file.type === 'chunk') file.code = file.code.replace(/\}(?=(async )?function )/g, '}\n')
  },
}

/** A file of its own for the check of bundles: built with the others, it would share a third file with that of receipts. */
const bundles: Plugin = {
  name: 'bundles',
  async generateBundle() {
    const built = await rolldown({ input: `${root}src/bundle.ts` })
    const { output } = await built.generate({ format: 'es', minify: true })
    this.emitFile({ type: 'asset', fileName: 'bundle.js', source: output[0].code })
  },
}

/** Files that import nothing, not even each other: the client, and the service's own checks of receipts and of bundles. */
export default defineConfig({
  root,
  publicDir: false,
  plugins: [types, lines, bundles],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2022',
    license: { fileName: 'licenses.md' },
    lib: { entry: { index: 'src/index.ts', verify: 'src/verify.ts' }, formats: ['es'] },
    rolldownOptions: { output: { minify: true, chunkFileNames: '[name].js' } },
  },
})
