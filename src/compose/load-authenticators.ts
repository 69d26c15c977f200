import { readFile } from 'node:fs/promises'
import { type Config, ConfigError } from '../config/config.ts'
import {
  type AuthenticatorModels,
  NO_MODELS,
  readAuthenticatorModels,
} from '../flow/people/authenticator-models.ts'
import type { Clock, Log } from '../flow/ports.ts'

/**
 * The metadata of authenticators that the configuration names, read once. An outdated file goes on being used, as what it says
 * of roots rarely changes; the log says so.
 * @throws ConfigError when a file cannot be read, or is not signed as it must be
 */
export async function loadAuthenticators(
  { authenticators: files }: Pick<Config, 'authenticators'>,
  clock: Clock,
  log: Log,
): Promise<AuthenticatorModels> {
  if (files === undefined) return NO_MODELS
  try {
    const roots = files.rootsFile === undefined ? undefined : pemsIn(await readFile(files.rootsFile, 'utf8'))
    const blob = await readFile(files.file, 'utf8')
    const { models, nextUpdate } = await readAuthenticatorModels({ blob, roots }, clock)
    if (nextUpdate < clock.now())
      log.warn({ next_update: nextUpdate }, 'the metadata of authenticators is outdated; take a newer file')
    return models
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ConfigError([`FIDO_METADATA_FILE: cannot be used: ${reason}`])
  }
}

function pemsIn(text: string): string[] {
  return text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
}
