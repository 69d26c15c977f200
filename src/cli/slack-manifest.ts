import { type SlackReach, slackManifest } from '../../adapters/slack/manifest.ts'
import { loadConfig } from '../config/config.ts'
import { usageError } from './cli-error.ts'
import type { CommandResult } from './tell.ts'

export interface ManifestOptions {
  socket?: boolean
  json?: boolean
}

/**
 * `countersign slack manifest`: the manifest for this BASE_URL, always as JSON. Socket Mode where it is asked for, or set up
 * already.
 * @throws ConfigError, CliError `usage` when Slack could not reach the address
 */
export function runSlackManifest({ socket }: ManifestOptions): CommandResult {
  const { baseUrl, slack } = loadConfig()
  const reach: SlackReach = socket || slack?.receive.kind === 'socket' ? 'socket' : 'http'
  if (reach === 'http' && !baseUrl.startsWith('https:')) {
    const advice = 'Set BASE_URL to the public https: address, or add --socket for Socket Mode'
    throw usageError(`Slack sends only to https: addresses, and BASE_URL is ${baseUrl}. ${advice}.`)
  }
  const manifest = slackManifest(baseUrl, reach)
  return { value: manifest, text: JSON.stringify(manifest, null, 2) }
}
