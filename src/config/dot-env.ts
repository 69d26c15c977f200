import { lstatSync, readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'

const NOT_UTF_8 = '.env: is not text in UTF-8; save it in that encoding'

/**
 * Does the same as `process.loadEnvFile`: variables already set win. But `loadEnvFile` takes a byte order mark, which some
 * editors write, for part of the first name, and so silently loses the first setting; TextDecoder drops the mark.
 * @returns what is wrong with the file and what to do about it, if it cannot be read
 */
export function loadDotEnv(env: NodeJS.ProcessEnv, path = '.env'): string | undefined {
  // A link that leads nowhere counts: what it should lead to has settings.
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path))
    if (text.includes('\0')) return NOT_UTF_8
    const given = parseEnv(text)
    for (const [name, value] of Object.entries(given)) env[name] ??= value
    return undefined
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    if (error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return NOT_UTF_8
    // Containers make a folder for a file they are to mount and do not find.
    const why = error.code === 'EISDIR' ? 'is a folder' : `cannot be read (${error.code})`
    return `.env: ${why}; make it a file that this user may read, or remove it`
  }
}
