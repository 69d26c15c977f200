import { existsSync, readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'

/**
 * Does the same as `process.loadEnvFile`: variables already set win. But `loadEnvFile` takes a byte order mark, which some
 * editors write, for part of the first name, and so silently loses the first setting; TextDecoder drops the mark.
 */
export function loadDotEnv(env: NodeJS.ProcessEnv, path = '.env'): void {
  if (!existsSync(path)) return
  const given = parseEnv(new TextDecoder().decode(readFileSync(path)))
  for (const [name, value] of Object.entries(given)) env[name] ??= value
}
