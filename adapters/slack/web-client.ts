import { webApi } from '@slack/bolt'
import { type Logger, LogLevel } from '@slack/oauth'
import type { ChatOutcome, Log } from '../../src/flow/ports.ts'

/** Milliseconds that one call may take, its answer included. */
export const CALL_MS = 5_000

/** Has a client call once: the outbox tries again, and knows what it tried. Left alone it would post a card many times. */
export function callingOnce(slackApiUrl: string) {
  return { slackApiUrl, timeout: CALL_MS, retryConfig: { retries: 0 }, rejectRateLimitedCalls: true }
}

/** A client that calls once. */
export function createWebClient(apiUrl: string, token: string, log: Log): webApi.WebClient {
  const options = { ...callingOnce(apiUrl), allowAbsoluteUrls: false, logger: createSlackLog(log) }
  return new webApi.WebClient(token, options)
}

/** Why a call was not accepted. */
export type Trouble = Pick<
  ChatOutcome<never> & { ok: false },
  'outcome' | 'retry_after' | 'perhaps' | 'gone'
> & {
  code: string
}

/**
 * Slack's error codes after which trying again does not help: no such person or place, or not allowed there. What is in neither
 * list counts as a failure and is tried again.
 */
const UNREACHABLE: ReadonlySet<string> = new Set([
  // The person.
  'user_not_found',
  'users_not_found',
  'user_disabled',
  'user_not_visible',
  'cannot_dm_bot',
  'messages_tab_disabled',
  // The place.
  'channel_not_found',
  'not_in_channel',
  'is_archived',
  'is_inactive',
  'channel_is_limited_access',
  'method_not_supported_for_channel_type',
  'restricted_action',
  'restricted_action_read_only_channel',
  'restricted_action_thread_only_channel',
  'restricted_action_thread_locked',
  'restricted_action_non_threadable_channel',
  // The message.
  'cannot_reply_to_message',
  'cant_update_message',
  'edit_window_closed',
])

/** The message was deleted. */
const GONE: ReadonlySet<string> = new Set(['message_not_found', 'thread_not_found', 'is_deleted'])

/** The app itself is refused: its token is dead, or lacks what the call takes. That is a state of the workspace. */
const UNAVAILABLE: ReadonlySet<string> = new Set([
  'not_authed',
  'invalid_auth',
  'account_inactive',
  'token_revoked',
  'token_expired',
  'missing_scope',
  'no_permission',
  'access_denied',
  'not_allowed_token_type',
  'ekm_access_denied',
  'enterprise_is_restricted',
  'team_access_not_granted',
  'team_not_found',
  'two_factor_setup_required',
])

const RATE_LIMITED: ReadonlySet<string> = new Set(['ratelimited', 'rate_limited'])
/** Seconds, when Slack names none. */
const USUAL_PATIENCE = 10

/** Codes that say the blocks are at fault: Slack shows nothing of such a message. */
const BAD_MESSAGE: ReadonlySet<string> = new Set([
  'invalid_blocks',
  'invalid_blocks_format',
  'invalid_attachments',
  'msg_blocks_too_long',
  'msg_too_long',
  'cannot_parse_attachment',
])

/** Our own blocks are what Slack minds. */
export function isBadMessage({ code }: { code?: string }): boolean {
  return code !== undefined && BAD_MESSAGE.has(code)
}

/** What WebClient threw, in our classes. Codes are Slack's own; nothing that a person wrote is in them. */
export function troubleOf(error: unknown): Trouble {
  if (error instanceof webApi.WebAPIRateLimitedError) return patience('ratelimited', error.retryAfter)
  if (error instanceof webApi.WebAPIPlatformError) return platformTrouble(error.data.error)
  if (error instanceof webApi.WebAPIHTTPError) {
    const perhaps = error.statusCode >= 500 ? PERHAPS : {}
    return { outcome: 'failed', code: `http_${error.statusCode}`, ...perhaps }
  }
  // WebClient wraps what goes wrong before the answer begins, and passes on as it is what breaks it off.
  const cut = error instanceof webApi.WebAPIRequestError ? error.original : error
  if (cut instanceof Error && cut.name === 'TimeoutError')
    return { outcome: 'timeout', code: 'timeout', ...PERHAPS }
  if (cut instanceof Error && (cut !== error || (cut instanceof TypeError && cut.cause !== undefined)))
    return { outcome: 'failed', code: 'connection', ...(neverArrived(cut) ? {} : PERHAPS) }
  return { outcome: 'failed', code: 'unexpected' }
}

const PERHAPS = { perhaps: true } as const

/** Slack stopped somewhere in the middle, or another host answered for it. */
const BROKE_OFF: ReadonlySet<string> = new Set([
  'internal_error',
  'fatal_error',
  'service_unavailable',
  'request_timeout',
  'unreadable',
])

/** There was no connection, so there was no call. */
function neverArrived({ cause }: Error): boolean {
  const code: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : undefined
  return (
    typeof code === 'string' &&
    /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$|CERT|TLS/.test(code)
  )
}

/** WebClient passes a body that is not JSON on as the code: a page of some proxy, say. */
function platformTrouble(said: string): Trouble {
  const code = /^[a-z][a-z0-9_.]{0,60}$/i.test(said) ? said : 'unreadable'
  if (RATE_LIMITED.has(code)) return patience(code, USUAL_PATIENCE)
  if (UNAVAILABLE.has(code)) return { outcome: 'unavailable', code }
  if (BROKE_OFF.has(code)) return { outcome: 'failed', code, ...PERHAPS }
  if (GONE.has(code)) return { outcome: 'unreachable', code, gone: true }
  return { outcome: UNREACHABLE.has(code) ? 'unreachable' : 'failed', code }
}

function patience(code: string, seconds: number): Trouble {
  return { outcome: 'rate_limited', retry_after: Math.max(1, Math.ceil(seconds)), code }
}

/**
 * Slack's libraries, talking into our log. Their debug lines are left out: they print whole calls, and what they redact
 * does not include the client secret.
 */
export function createSlackLog(log: Log): Logger {
  const told = (parts: unknown[]): string => parts.map(String).join(' ')
  const warn = (...parts: unknown[]) => log.warn({ said: told(parts) }, 'slack library')
  return {
    debug: () => undefined,
    info: (...parts) => log.debug({ said: told(parts) }, 'slack library'),
    warn,
    error: warn,
    setLevel: () => undefined,
    getLevel: () => LogLevel.INFO,
    setName: () => undefined,
  }
}
