import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { zipSync } from 'fflate'
import { type SlackReach, slackManifest } from '../../adapters/slack/manifest.ts'
import { ICON_FILES, type TeamsEdition, teamsManifest } from '../../adapters/teams/manifest.ts'
import { loadConfig } from '../config/config.ts'
import { packagePath } from '../config/package-path.ts'
import { CliError, type CommandResult, usageError } from './terminal.ts'

/**
 * `countersign slack manifest`: prints the manifest for this BASE_URL, always as JSON; for Socket Mode if `--socket` is given
 * or Socket Mode is set up already.
 * @throws ConfigError, CliError `usage` when Slack could not reach BASE_URL
 */
export function runSlackManifest({ socket }: { socket?: boolean }): CommandResult {
  const { baseUrl, slack } = loadConfig()
  const reach: SlackReach = socket || slack?.receive.kind === 'socket' ? 'socket' : 'http'
  if (reach === 'http' && !baseUrl.startsWith('https:')) {
    const advice = 'Set BASE_URL to the public https: address, or add --socket for Socket Mode'
    throw usageError(`Slack sends only to https: addresses, and BASE_URL is ${baseUrl}. ${advice}.`)
  }
  const manifest = slackManifest(baseUrl, reach)
  return { value: manifest, text: JSON.stringify(manifest, null, 2) }
}

/** Date of the files in the package: fixed, so that the same files make the same bytes, in whatever time zone. */
const DATE = new Date(1980, 0, 1, 12)

export interface PackageOptions {
  out: string
  preview?: boolean
}

/**
 * `countersign teams package`: writes the app package for this BASE_URL and TEAMS_APP_ID, replacing an older file of that name.
 * The same settings make the same bytes.
 * @throws ConfigError; CliError `usage` when no bot is set up or Teams could not reach BASE_URL; CliError `not_written`
 */
export async function runTeamsPackage({ out, preview }: PackageOptions): Promise<CommandResult> {
  const { baseUrl, appId } = settingsOfApp()
  const edition: TeamsEdition = preview ? 'preview' : 'published'
  const manifest = teamsManifest(baseUrl, appId, edition)
  const icons = Object.values(ICON_FILES).map(
    async (name) => [name, await readFile(packagePath(`deploy/teams/${name}`))] as const,
  )
  const files = {
    'manifest.json': Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`),
    ...Object.fromEntries(await Promise.all(icons)),
  }
  const archive = zipSync(files, { level: 9, mtime: DATE })
  const file = resolve(out)
  await writeFile(file, archive).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error)
    throw new CliError('not_written', `The package cannot be written: ${reason}. Name another --out.`)
  })
  const sha256 = createHash('sha256').update(archive).digest('hex')
  return { value: { file, sha256, manifest }, text: textOf(file, manifest, edition) }
}

function settingsOfApp(): { baseUrl: string; appId: string } {
  const { baseUrl, teams } = loadConfig()
  if (!teams?.appId) {
    const names = 'TEAMS_APP_ID, TEAMS_APP_PASSWORD and TEAMS_TENANT_ID'
    throw usageError(`The package names the bot. Register it (docs/teams.md), and set ${names}.`)
  }
  if (!baseUrl.startsWith('https:')) {
    throw usageError(
      `Teams sends only to https: addresses, and BASE_URL is ${baseUrl}. Set BASE_URL to the public https: address.`,
    )
  }
  return { baseUrl, appId: teams.appId }
}

function textOf(
  file: string,
  { manifestVersion, version, id, validDomains }: ReturnType<typeof teamsManifest>,
  edition: TeamsEdition,
): string {
  return [
    `Wrote ${file}`,
    `App ${id}, version ${version}, for ${validDomains.join(', ')}; manifest ${manifestVersion}, valid by Microsoft’s schema.`,
    UPLOAD[edition],
  ].join('\n')
}

const UPLOAD: Record<TeamsEdition, string> = {
  published:
    'Upload it in Teams under Apps, Manage your apps, Upload an app; or for everyone in the Teams admin center, Manage apps.',
  preview:
    'The developer preview is only for testing: upload it in Teams under Apps, Manage your apps, Upload an app; not for everyone.',
}
