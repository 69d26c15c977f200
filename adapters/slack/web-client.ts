import { webApi } from '@slack/bolt'
import { type Logger, LogLevel } from '@slack/oauth'
import type { ChatOutcome, Log } from '../../src/ports/ports.ts'

/** Milliseconds that one call may take, its answer included. */
export const CALL_MS = 5_000

/** Options for a client without retries: the outbox retries and knows its attempts. The default could post a card many times. */
export function callingOnce(slackApiUrl: string) {
  return { slackApiUrl, timeout: CALL_MS, retryConfig: { retries: 0 }, rejectRateLimitedCalls: true }
}

/** Creates a client that makes each call only once. */
export function createWebClient(apiUrl: string, token: string, log: Log): webApi.WebClient {
  const options = { ...callingOnce(apiUrl), allowAbsoluteUrls: false, logger: createSlackLog(log) }
  return new webApi.WebClient(token, options)
}

/** Why a call failed. */
export type Trouble = Pick<
  ChatOutcome<never> & { ok: false },
  'outcome' | 'retry_after' | 'perhaps' | 'gone'
> & {
  code: string
}

/**
 * Slack's error codes for which a retry does not help: the person or place does not exist, or is not allowed. Codes in none of
 * these lists count as failures and are retried.
 */
const UNREACHABLE: ReadonlySet<string> = new Set([
  // About the person.
  'user_not_found',
  'users_not_found',
  'user_disabled',
  'user_not_visible',
  'cannot_dm_bot',
  'messages_tab_disabled',
  // About the place.
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
  // About the message.
  'cannot_reply_to_message',
  'cant_update_message',
  'edit_window_closed',
])

/** Codes for a message that was deleted. */
const GONE: ReadonlySet<string> = new Set(['message_not_found', 'thread_not_found', 'is_deleted'])

/** Codes that refuse the app itself: its token is dead or lacks a scope. This is a state of the whole workspace, some also of a channel. */
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
  // The app may call only from other IP addresses.
  'accesslimited',
])

const RATE_LIMITED: ReadonlySet<string> = new Set(['ratelimited', 'rate_limited'])
/** Seconds to wait when Slack names none. */
const USUAL_PATIENCE = 10

/** Codes that blame the blocks: Slack shows nothing of such a message. */
const BAD_MESSAGE: ReadonlySet<string> = new Set([
  'invalid_blocks',
  'invalid_blocks_format',
  'invalid_attachments',
  'msg_blocks_too_long',
  'msg_too_long',
  'cannot_parse_attachment',
])

/** Checks whether Slack refused a call because of our own blocks. */
export function isBadMessage({ code }: { code?: string }): boolean {
  return code !== undefined && BAD_MESSAGE.has(code)
}

/** Classifies an error thrown by WebClient. Codes are Slack's own and contain nothing that a person wrote. */
export function troubleOf(error: unknown): Trouble {
  if (error instanceof webApi.WebAPIRateLimitedError) return patience('ratelimited', error.retryAfter)
  if (error instanceof webApi.WebAPIPlatformError) return platformTrouble(error.data.error)
  if (error instanceof webApi.WebAPIHTTPError) {
    const perhaps = error.statusCode >= 500 ? PERHAPS : {}
    return { outcome: 'failed', code: `http_${error.statusCode}`, ...perhaps }
  }
  // WebClient wraps errors from before the answer begins, but passes on unchanged those that break it off.
  const cut = error instanceof webApi.WebAPIRequestError ? error.original : error
  if (cut instanceof Error && cut.name === 'TimeoutError')
    return { outcome: 'timeout', code: 'timeout', ...PERHAPS }
  if (cut instanceof Error && (cut !== error || (cut instanceof TypeError && cut.cause !== undefined)))
    return { outcome: 'failed', code: 'connection', ...(neverArrived(cut) ? {} : PERHAPS) }
  return { outcome: 'failed', code: 'unexpected' }
}

const PERHAPS = { perhaps: true } as const

/** Codes for a call that Slack broke off halfway, or that another host answered. */
const BROKE_OFF: ReadonlySet<string> = new Set([
  'internal_error',
  'fatal_error',
  'service_unavailable',
  'request_timeout',
  'unreadable',
])

/** Checks whether there was no connection, so that Slack cannot have received the call. */
function neverArrived({ cause }: Error): boolean {
  const code: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : undefined
  return (
    typeof code === 'string' &&
    /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$|CERT|TLS/.test(code)
  )
}

/** Classifies an error code. WebClient passes on a body that is not JSON, such as a proxy's page, as the code. */
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
 * Creates a logger that writes the lines of Slack's libraries to our log. Debug lines are left out: they print whole calls
 * and do not redact the client secret.
 */
export function createSlackLog(log: Log): Logger {
  const told = (parts: unknown[]): string => parts.map(String).join(' ')
  const warn = (...parts: unknown[]) =>
    log.warn({ said: told(parts) }, 'the Slack library reported a problem')
  return {
    debug: () => undefined,
    info: (...parts) => log.debug({ said: told(parts) }, 'the Slack library reported a problem'),
    warn,
    error: warn,
    setLevel: () => undefined,
    getLevel: () => LogLevel.INFO,
    setName: () => undefined,
  }
}
