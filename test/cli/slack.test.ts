import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { packagePath } from '../../src/config/package-path.ts'
import { cli, useDataDir } from '../support/cli.ts'

const SHOWN = JSON.parse(readFileSync(packagePath('deploy/slack-manifest.json'), 'utf8'))

describe('countersign slack manifest', () => {
  it('prints the manifest for this BASE_URL, with and without --json, and makes nothing on disk', async () => {
    const { env } = await useDataDir()
    const there = { ...env, BASE_URL: 'https://approvals.example.com' }
    for (const more of [[], ['--json']]) {
      const run = await cli(['slack', 'manifest', ...more], { env: there })
      expect([run.code, run.stderr]).toEqual([0, ''])
      expect(run.json()).toEqual(SHOWN)
    }
    const other = await cli(['slack', 'manifest'], { env: { ...env, BASE_URL: 'https://yes.example.org' } })
    expect(other.stdout).toContain('"https://yes.example.org/slack/events"')
    expect(other.stdout).not.toContain('approvals.example.com')
  })

  it('prints that of Socket Mode when asked, and when SLACK_APP_TOKEN is set', async () => {
    const { env } = await useDataDir()
    const asked = await cli(['slack', 'manifest', '--socket'], { env })
    expect([asked.code, asked.json().settings.socket_mode_enabled]).toEqual([0, true])
    const setUp = { ...env, SLACK_BOT_TOKEN: 'xoxb-1', SLACK_APP_TOKEN: 'xapp-1' }
    const known = await cli(['slack', 'manifest'], { env: setUp })
    expect(known.json()).toEqual(asked.json())
  })

  it('refuses an address that Slack does not send to, and says what to do', async () => {
    const { env } = await useDataDir()
    const run = await cli(['slack', 'manifest', '--json'], { env: { ...env, PORT: '3456' } })
    expect([run.code, run.stdout]).toEqual([2, ''])
    expect(run.error()).toEqual({
      error: 'usage',
      message:
        'Slack sends only to https: addresses, and BASE_URL is http://localhost:3456. ' +
        'Set BASE_URL to the public https: address, or add --socket for Socket Mode.',
    })
  })
})
