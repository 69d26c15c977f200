import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
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

/** Two files that import nothing, not even each other: the client, and the service's own receipt check. */
export default defineConfig({
  root,
  publicDir: false,
  plugins: [types, lines],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2022',
    license: { fileName: 'licenses.md' },
    lib: { entry: { index: 'src/index.ts', verify: 'src/verify.ts' }, formats: ['es'] },
    rolldownOptions: { output: { minify: true, chunkFileNames: '[name].js' } },
  },
})
