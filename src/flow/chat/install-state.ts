import { refusal } from '../../domain/errors.ts'
import { sha256Hex, toBase64Url } from '../../signing/encoding.ts'
import type { FlowDeps } from '../deps.ts'

/** As long as Slack's own codes live: an administrator may have to sign in over there first. */
const STATE_MS = 10 * 60_000

/** Shape of what `startInstall` hands out. Anything else is not looked up. */
const STATE = /^[\w-]{43}$/

/**
 * Draws the `state` of an OAuth installation (RFC 6749 §10.12): 32 random bytes in base64url, of which the store keeps the
 * hash together with the session that asks.
 */
export async function startInstall(
  deps: Pick<FlowDeps, 'challenges' | 'clock' | 'random'>,
  sessionId: string,
): Promise<string> {
  const state = toBase64Url(deps.random.bytes(32))
  const expires_at = new Date(deps.clock.now().getTime() + STATE_MS)
  await deps.challenges.put({
    id: sha256Hex(state),
    purpose: 'chat.install',
    session_id: sessionId,
    expires_at,
  })
  return state
}

/**
 * Uses the state up, whichever process drew it. Only the session that started may end: else a stranger could have their own
 * workspace told of somebody else's requests, by making that person's browser open the end of an installation.
 * @throws Refusal `install_state_invalid`
 */
export async function finishInstall(
  deps: Pick<FlowDeps, 'challenges'>,
  sessionId: string,
  state: string,
): Promise<void> {
  const taken = STATE.test(state) ? await deps.challenges.take(sha256Hex(state), 'chat.install') : undefined
  if (taken?.session_id !== sessionId) throw refusal('install_state_invalid')
}
