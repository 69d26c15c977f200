import { expect, it } from 'vitest'
import { troubleAdvice } from '../../src/domain/chat-trouble.ts'

it.each([
  ['teams', 'app_removed', /^Add the app to the team or group chat again/],
  ['teams', 'BotNotInConversationRoster', /^Add the app to the team or group chat again/],
  ['teams', 'ConversationBlockedByUser', /^Allow bots to post/],
  ['teams', 'ConversationNotFound', /deleted or archived, restore/],
  ['teams', 'NotEnoughPermissions', /moderation.*archived/],
  ['slack', 'not_in_channel', /^Invite the app/],
  ['slack', 'channel_not_found', /^Invite the app.* has changed/],
  ['slack', 'ekm_access_denied', /^Administrators/],
  ['slack', 'is_archived', /^Unarchive the channel/],
  ['slack', 'restricted_action', /settings/],
  ['slack', 'restricted_action_read_only_channel', /settings/],
] as const)('says what to do about a channel of %s that refuses cards with %s', (platform, reason, words) => {
  const advice = troubleAdvice({ platform, channel: 'C1', reason })
  expect(advice).toMatch(words)
  expect(advice).toContain('remove the channel on the page Integrations')
})

it('sends to the administrator where one denied the app, and knows no words of prototypes', () => {
  const denied = { platform: 'teams', channel: 'C1', reason: 'BotDisabledByAdmin' } as const
  expect(troubleAdvice(denied)).toContain('Teams admin center')
  expect(troubleAdvice({ ...denied, reason: 'constructor' })).toMatch(/^Add the app/)
  expect(troubleAdvice({ platform: 'slack', reason: 'constructor' })).toContain('doctor slack')
})

it.each(['account_inactive', 'token_revoked', 'app_removed', 'not_installed'])(
  'says of %s that the app has to be added again, with its new token',
  (reason) => {
    expect(troubleAdvice({ platform: 'slack', reason })).toMatch(/^Add the app .*SLACK_BOT_TOKEN/)
  },
)

it.each(['accesslimited', 'invalid_auth'])('says of %s that Slack may mind the address', (reason) => {
  expect(troubleAdvice({ platform: 'slack', reason })).toMatch(/doctor slack.* IP addresses/)
})
