import { existsSync, readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'

/**
 * Does the same as `process.loadEnvFile`: variables already set win. But `loadEnvFile` takes a byte order mark, which some
 * editors write, for part of the first name, and so silently loses the first setting; TextDecoder drops the mark.
 * @returns what is wrong with the file and what to do about it, if it cannot be read
 */
export function loadDotEnv(env: NodeJS.ProcessEnv, path = '.env'): string | undefined {
  if (!existsSync(path)) return undefined
  try {
    const given = parseEnv(new TextDecoder().decode(readFileSync(path)))
    for (const [name, value] of Object.entries(given)) env[name] ??= value
    return undefined
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    // Containers make a folder for a file they are to mount and do not find.
    const why = error.code === 'EISDIR' ? 'is a folder' : `cannot be read (${error.code})`
    return `.env: ${why}; make it a file that this user may read, or take it away`
  }
}
