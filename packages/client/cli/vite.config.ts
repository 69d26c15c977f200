import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

/** The command of the package: what it needs of the client is in it, so that the client stays one file. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  publicDir: false,
  // Nothing is installed with the package: the reader of YAML is in it.
  ssr: { noExternal: ['yaml'] },
  build: {
    ssr: true,
    outDir: '../bin',
    emptyOutDir: true,
    target: 'node20',
    license: { fileName: 'licenses.md' },
    rolldownOptions: {
      input: { countersign: 'countersign.ts' },
      output: { entryFileNames: '[name].js', chunkFileNames: '[name].js' },
    },
  },
})
