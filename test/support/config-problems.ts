import { ConfigError, readConfig } from '../../src/config/config.ts'

/** What `readConfig` complains about. */
export function problemsOf(env: Record<string, string | undefined>): readonly string[] {
  try {
    readConfig(env)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}
