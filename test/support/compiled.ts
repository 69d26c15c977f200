import { existsSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import type { Plugin } from 'vitest/config'

/**
 * Tests that name a source of the server get the file that the build made of it, and Node loads that by itself: what is tested
 * is what runs. Vitest's own loader transforms each module and makes each use of an import the read of a property, which was a
 * tenth of the CPU of the tests over HTTP. Not while Vitest watches: it must know the sources to tell which tests they concern.
 */
export function loadsWhatIsBuilt(root: string): Plugin {
  let watching = false
  return {
    name: 'loads-what-is-built',
    enforce: 'pre',
    configureVitest({ vitest }) {
      watching = vitest.config.watch
    },
    resolveId(source, importer) {
      if (watching || importer === undefined || !/^\.{1,2}\/.*\.ts$/.test(source)) return null
      const path = resolve(dirname(importer), source)
      const built = builtFrom(root, path)
      // What was built of a source that is gone may still be there.
      return built !== undefined && existsSync(path) ? { id: built, external: true } : null
    },
  }
}

/** Where `npm run build` writes what it makes of a source; undefined for what it does not compile file by file. */
function builtFrom(root: string, source: string): string | undefined {
  const path = relative(root, source).replace(/\.ts$/, '.js')
  if (/^(src|adapters)\//.test(path)) return join(root, 'dist', path)
  return path.startsWith('embedded-mongo/src/') ? join(root, path.replace('/src/', '/dist/')) : undefined
}
