import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

/** Returns the absolute path of a file of this package, whether the code runs from `src` or compiled from `dist/src`. */
export function packagePath(relative: string): string {
  return join(packageRoot(), relative)
}

function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder)
    if (parent === folder) throw new Error('package.json not found')
    folder = parent
  }
  return folder
}

const manifestSchema = z.object({ version: z.string() })
const buildSchema = z.object({ commit: z.string() })

/** The version of this package, and the commit it was built from: 12 hex digits, or `unknown` where the build saw none. */
export interface BuildInfo {
  readonly version: string
  readonly commit: string
}

/** Reads what was built from `package.json` and `dist/build.json`, which `scripts/build.mjs` writes. */
export function buildInfo(): BuildInfo {
  const { version } = manifestSchema.parse(readJson('package.json'))
  const built = existsSync(packagePath(BUILD)) ? readJson(BUILD) : { commit: 'unknown' }
  return { version, ...buildSchema.parse(built) }
}

const BUILD = 'dist/build.json'

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(packagePath(path), 'utf8'))
}
