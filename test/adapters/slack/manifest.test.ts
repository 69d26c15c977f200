import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { BOT_SCOPES, slackManifest } from '../../../adapters/slack/manifest.ts'
import { packagePath } from '../../../src/config/package-path.ts'

const HOST = 'https://approvals.example.com'

describe('the manifest of the Slack app', () => {
  it('has one address for commands, buttons and events, and one where OAuth ends', () => {
    const { features, settings, oauth_config } = slackManifest(HOST, 'http')
    const events = `${HOST}/slack/events`
    expect(features.slash_commands.map(({ command, ...rest }) => [command, rest])).toEqual([
      ['/verify', expect.objectContaining({ url: events, usage_hint: expect.any(String) })],
      ['/countersign', expect.objectContaining({ url: events, usage_hint: expect.any(String) })],
    ])
    expect(settings.interactivity).toEqual({ is_enabled: true, request_url: events })
    expect(settings.event_subscriptions).toEqual({
      request_url: events,
      bot_events: ['app_home_opened', 'app_uninstalled', 'message.im', 'tokens_revoked'],
    })
    expect(settings.socket_mode_enabled).toBe(false)
    expect(oauth_config).toMatchObject({ redirect_urls: [`${HOST}/slack/oauth_redirect`] })
  })

  it('names no address for requests in Socket Mode, and none over http: at all', () => {
    const manifest = slackManifest('http://localhost:3000', 'socket')
    expect(manifest.settings.socket_mode_enabled).toBe(true)
    expect(JSON.stringify(manifest)).not.toMatch(/localhost|_url/)
    expect(slackManifest(HOST, 'socket').oauth_config).toHaveProperty('redirect_urls')
  })

  it('asks for no more than is used, for nothing of a person, and for tokens that stay', () => {
    const { oauth_config, settings, features } = slackManifest(HOST, 'http')
    expect(oauth_config.scopes).toEqual({ bot: [...BOT_SCOPES] })
    expect([...BOT_SCOPES].sort()).toEqual([
      'chat:write',
      'commands',
      'im:history',
      'im:write',
      'users:read',
      'users:read.email',
    ])
    expect(settings.token_rotation_enabled).toBe(false)
    expect(features.app_home).toEqual({
      home_tab_enabled: true,
      messages_tab_enabled: true,
      messages_tab_read_only_enabled: false,
    })
  })

  it('keeps within the lengths that Slack takes', () => {
    const { display_information: shown, features } = slackManifest(HOST, 'http')
    expect(shown.name.length).toBeLessThanOrEqual(35)
    expect(shown.description.length).toBeLessThanOrEqual(140)
    expect(shown.long_description.length).toBeGreaterThanOrEqual(174)
    expect(shown.long_description.length).toBeLessThanOrEqual(4_000)
    expect(features.bot_user.display_name.length).toBeLessThanOrEqual(80)
    for (const { command, description, usage_hint } of features.slash_commands) {
      expect(command).toMatch(/^\/[a-z]{1,31}$/)
      expect(description.length).toBeLessThanOrEqual(2_000)
      expect(usage_hint.length).toBeLessThanOrEqual(1_000)
    }
  })

  it('is what deploy/slack-manifest.json shows', () => {
    const file = readFileSync(packagePath('deploy/slack-manifest.json'), 'utf8')
    expect(JSON.parse(file)).toEqual(slackManifest(HOST, 'http'))
  })
})
