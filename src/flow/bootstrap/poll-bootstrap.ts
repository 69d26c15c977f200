import { createHash, timingSafeEqual } from 'node:crypto'
import { type Bootstrap, type BootstrapStatus, POLL_LEAST_MS, POLL_SECONDS } from '../../domain/bootstrap.ts'
import { refusal } from '../../domain/errors.ts'
import type { FlowDeps } from '../deps.ts'
import { handOutKey } from './hand-out-key.ts'
import { settleBootstrap } from './settle-bootstrap.ts'
import { bootstrapHash } from './start-bootstrap.ts'

type PollDeps = Pick<FlowDeps, 'bootstraps' | 'apiKeys' | 'vault' | 'clock' | 'random' | 'changes'>

/** Whoever polls. */
export interface Poll {
  bootstrapId: string
  /** `code_verifier`, if one was sent. */
  verifier: string | undefined
  address: string
}

/** What a poll is told. */
export interface PollAnswer {
  status: BootstrapStatus
  /** Only ever in one answer, or in that to a caller that proves to be the one who lost it. */
  api_key?: string
  bootstrap: Bootstrap
}

/**
 * Answers a poll (interface, endpoint 6). Whoever does not prove the verifier learns nothing, not even whether it was decided,
 * and does not take the real caller's turn.
 * @throws Refusal `not_found`, `code_verifier_refused`, `slow_down`
 */
export async function pollBootstrap(deps: PollDeps, poll: Poll): Promise<PollAnswer> {
  if (!/^boot_[A-Za-z0-9_-]{43}$/.test(poll.bootstrapId)) throw refusal('not_found')
  const found = await deps.bootstraps.findBySecret(bootstrapHash(deps, poll.bootstrapId))
  if (found === undefined) throw refusal('not_found')
  if (found.code_challenge !== undefined && !proves(poll.verifier, found.code_challenge))
    throw refusal('code_verifier_refused')
  const now = deps.clock.now()
  const taken = await deps.bootstraps.poll(found.id, new Date(now.getTime() - POLL_LEAST_MS), now)
  if (!taken) throw refusal('slow_down', { retry_after: POLL_SECONDS })
  const bootstrap = await settleBootstrap(deps, found)
  const { status } = bootstrap
  const api_key = status === 'approved' ? await handOutKey(deps, bootstrap, poll.address) : undefined
  return { status, ...(api_key === undefined ? {} : { api_key }), bootstrap }
}

/** RFC 7636, section 4.6. */
function proves(verifier: string | undefined, challenge: string): boolean {
  if (verifier === undefined || !/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return false
  const digest = createHash('sha256').update(verifier).digest()
  const expected = Buffer.from(challenge, 'base64url')
  return expected.length === digest.length && timingSafeEqual(expected, digest)
}
