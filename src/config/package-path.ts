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

/** Reads the version of this package from its `package.json`. */
export function packageVersion(): string {
  return manifestSchema.parse(JSON.parse(readFileSync(packagePath('package.json'), 'utf8'))).version
}
