import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

/**
 * Builds the hosted page. Nothing is inlined (no data: script, no inline style, no polyfill preamble), so the page runs
 * under `script-src 'self'; style-src 'self'` and `trusted-types 'none'`.
 */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/',
  publicDir: false,
  build: {
    outDir: fileURLToPath(new URL('../dist/webauthn-page', import.meta.url)),
    emptyOutDir: true,
    target: 'es2022',
    sourcemap: false,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
  },
})
