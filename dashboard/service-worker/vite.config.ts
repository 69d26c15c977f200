import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

/** Builds one script, without a hash in its name and without imports: browsers check only `/sw.js` for updates. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  publicDir: false,
  build: {
    outDir: fileURLToPath(new URL('../../dist/service-worker', import.meta.url)),
    emptyOutDir: true,
    target: 'es2022',
    sourcemap: false,
    reportCompressedSize: false,
    lib: {
      entry: fileURLToPath(new URL('sw.ts', import.meta.url)),
      formats: ['iife'],
      name: 'worker',
      fileName: () => 'sw.js',
    },
  },
})
