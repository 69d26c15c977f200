import { existsSync, readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'

/**
 * As `process.loadEnvFile`, and so below what the process was given. That one takes a byte order mark, which some editors write and
 * a TextDecoder leaves out, for a part of the first name: the first setting would be lost without a word.
 */
export function loadDotEnv(env: NodeJS.ProcessEnv, path = '.env'): void {
  if (!existsSync(path)) return
  const given = parseEnv(new TextDecoder().decode(readFileSync(path)))
  for (const [name, value] of Object.entries(given)) env[name] ??= value
}
