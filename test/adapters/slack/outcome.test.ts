import { webApi } from '@slack/bolt'
import { expect, it } from 'vitest'
import { isBadMessage, troubleOf } from '../../../adapters/slack/web-client.ts'

const refused = (error: string) => troubleOf(new webApi.WebAPIPlatformError({ ok: false, error }))

it.each([
  'channel_not_found',
  'user_not_found',
  'user_disabled',
  'is_archived',
  'not_in_channel',
  'cannot_dm_bot',
  'cant_update_message',
])('does not try %s again, and keeps the code for the log', (code) => {
  expect(refused(code)).toEqual({ outcome: 'unreachable', code })
})

it.each(['message_not_found', 'thread_not_found'])('says of %s that the message is gone', (code) => {
  expect(refused(code)).toEqual({ outcome: 'unreachable', code, gone: true })
})

it.each([
  'account_inactive',
  'token_revoked',
  'token_expired',
  'invalid_auth',
  'not_authed',
  'missing_scope',
  'no_permission',
  'team_access_not_granted',
  'ekm_access_denied',
  'accesslimited',
])('takes %s for a state of the workspace', (code) => {
  expect(refused(code)).toEqual({ outcome: 'unavailable', code })
})

it.each(['invalid_blocks', 'team_added_to_org', 'new_one'])('tries %s again, which did nothing', (code) => {
  expect(refused(code)).toEqual({ outcome: 'failed', code })
})

it.each(['internal_error', 'fatal_error', 'service_unavailable'])(
  'tries %s again, which may have been done',
  (code) => {
    expect(refused(code)).toEqual({ outcome: 'failed', code, perhaps: true })
  },
)

it('knows that a call was not made where there was no connection', () => {
  const cause = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
  const refusedConnection = new webApi.WebAPIRequestError(new TypeError('fetch failed', { cause }))
  expect(troubleOf(refusedConnection)).toEqual({ outcome: 'failed', code: 'connection' })
})

it('waits as long as Slack asks, at least a second, and ten when it names none', () => {
  expect(troubleOf(new webApi.WebAPIRateLimitedError(30))).toMatchObject({ retry_after: 30 })
  expect(troubleOf(new webApi.WebAPIRateLimitedError(0))).toMatchObject({ retry_after: 1 })
  expect(refused('ratelimited')).toEqual({ outcome: 'rate_limited', code: 'ratelimited', retry_after: 10 })
  expect(refused('rate_limited')).toMatchObject({ outcome: 'rate_limited', retry_after: 10 })
})

it('tells a time-out from a connection that was cut, and either from an HTTP failure', () => {
  const late = new DOMException('The operation was aborted due to timeout', 'TimeoutError')
  expect(troubleOf(new webApi.WebAPIRequestError(late))).toEqual({
    outcome: 'timeout',
    code: 'timeout',
    perhaps: true,
  })
  expect(troubleOf(new webApi.WebAPIRequestError(new TypeError('fetch failed')))).toEqual({
    outcome: 'failed',
    code: 'connection',
    perhaps: true,
  })
  expect(troubleOf(new webApi.WebAPIHTTPError(502, 'Bad Gateway', {}))).toEqual({
    outcome: 'failed',
    code: 'http_502',
    perhaps: true,
  })
  const terminated = new TypeError('terminated', { cause: new Error('other side closed') })
  for (const [brokenOff, trouble] of [
    [late, { outcome: 'timeout', code: 'timeout', perhaps: true }],
    [terminated, { outcome: 'failed', code: 'connection', perhaps: true }],
  ] as const)
    expect(troubleOf(brokenOff)).toEqual(trouble)
  expect(troubleOf(new TypeError('a defect'))).toEqual({ outcome: 'failed', code: 'unexpected' })
  expect(troubleOf('what')).toEqual({ outcome: 'failed', code: 'unexpected' })
})

it('keeps what a proxy wrote out of the log', () => {
  expect(refused('<html>Sign in as ana@example.com</html>')).toEqual({
    outcome: 'failed',
    code: 'unreadable',
    perhaps: true,
  })
})

it('knows which refusals are about the blocks', () => {
  expect(isBadMessage(refused('invalid_blocks'))).toBe(true)
  expect(isBadMessage(refused('msg_blocks_too_long'))).toBe(true)
  expect(isBadMessage(refused('is_archived'))).toBe(false)
})
