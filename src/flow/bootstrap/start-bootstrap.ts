import {
  BOOTSTRAP_MINUTES,
  BOOTSTRAP_SCOPES,
  BOOTSTRAPS_AN_HOUR,
  type Bootstrap,
  drawMatchingCode,
  PENDING_SLOTS,
} from '../../domain/bootstrap.ts'
import { refusal } from '../../domain/errors.ts'
import { drawId } from '../../domain/identifier.ts'
import { isVouchedFor } from '../../domain/user.ts'
import { toBase64Url } from '../../signing/encoding.ts'
import type { FlowDeps } from '../deps.ts'
import { secondsUntil } from '../people/codes.ts'
import { bootstrapAudit, requestedEvent } from './settle-bootstrap.ts'

type StartDeps = Pick<
  FlowDeps,
  'bootstraps' | 'users' | 'attempts' | 'vault' | 'clock' | 'random' | 'settings'
>

/** What the caller sends, and where it comes from. */
export interface BootstrapInput {
  /** Normalised. */
  email: string
  clientName: string
  codeChallenge?: string
  requester: Bootstrap['requester']
}

const HOUR_SECONDS = 3600

/** Another bootstrap can take a slot that was just made free; the hourly limit bounds how often. */
const MAX_ATTEMPTS = 16

/**
 * Begins a bootstrap. An e-mail address without an account gets a decoy: a record that is written, counted, polled and expired
 * like any other, so that neither answer nor time tells who has an account (T51). Both limits count by the address itself,
 * known or not.
 * @returns the `bootstrap_id`, which is kept nowhere, and the record
 * @throws Refusal `rate limit exceeded`
 */
export async function startBootstrap(
  deps: StartDeps,
  input: BootstrapInput,
): Promise<{ bootstrap_id: string; bootstrap: Bootstrap }> {
  const emailHash = deps.vault.hash('bootstrap-email', input.email)
  const { count, ends } = await deps.attempts.take(`bootstrap:${emailHash}`, HOUR_SECONDS)
  if (count > BOOTSTRAPS_AN_HOUR)
    throw refusal('rate limit exceeded', { retry_after: secondsUntil(ends, deps.clock.now()) })
  const found = await deps.users.findByEmail(input.email)
  const owner = found !== undefined && isVouchedFor(found) ? found : undefined
  const bootstrap_id = `boot_${toBase64Url(deps.random.bytes(32))}`
  const bootstrap = build(deps, input, bootstrap_id, owner?.account_id)
  return { bootstrap_id, bootstrap: await takeSlot(deps, bootstrap, emailHash) }
}

/** The two hashes of a `bootstrap_id` and an e-mail address have keys of their own: neither table helps with the other. */
export function bootstrapHash({ vault }: Pick<FlowDeps, 'vault'>, bootstrapId: string): string {
  return vault.hash('bootstrap', bootstrapId)
}

function build(
  deps: StartDeps,
  input: BootstrapInput,
  bootstrapId: string,
  accountId: string | undefined,
): Bootstrap {
  const at = deps.clock.now()
  const bootstrap: Bootstrap = {
    id: drawId(deps, 'bst'),
    version: 1,
    secret_hash: bootstrapHash(deps, bootstrapId),
    ...(accountId === undefined ? {} : { account_id: accountId }),
    status: 'pending',
    client_name: input.clientName,
    code: drawMatchingCode(deps.random),
    scopes: [...BOOTSTRAP_SCOPES],
    ...(input.codeChallenge === undefined ? {} : { code_challenge: input.codeChallenge }),
    requester: input.requester,
    wrong_codes: 0,
    created_at: at,
    expires_at: new Date(at.getTime() + BOOTSTRAP_MINUTES * 60_000),
    outbox: [],
    audit: [],
  }
  const { address } = input.requester
  const audit = bootstrapAudit(deps, 'bootstrap.requested', bootstrap, {
    actor: { kind: 'public', address },
    at,
  })
  // A decoy's event reaches no webhook, since it has no account; writing it makes the two cases the same work.
  return { ...bootstrap, outbox: [requestedEvent(deps, bootstrap)], audit: [audit] }
}

/**
 * Inserts it in a free slot of its e-mail address. With none free the oldest one waiting gives up its slot: the newest is
 * the one whose code a person is looking at, and five an hour (interface, "Limits") must find room. The unique index on the
 * slot holds the limit, whatever comes at once.
 */
async function takeSlot(deps: StartDeps, bootstrap: Bootstrap, emailHash: string): Promise<Bootstrap> {
  const slots = Array.from({ length: PENDING_SLOTS }, (_, index) => `${emailHash}:${index}`)
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const holders = await deps.bootstraps.holders(slots)
    const free = slots.find((slot) => !holders.some((holder) => holder.slot === slot))
    if (free !== undefined) {
      const placed = { ...bootstrap, slot: free }
      if (await deps.bootstraps.insert(placed)) return placed
      continue
    }
    const [oldest] = holders
    if (oldest === undefined) continue
    const facts = { actor: { kind: 'service' }, at: deps.clock.now(), detail: { superseded: true } } as const
    await deps.bootstraps.giveUp(oldest.id, bootstrapAudit(deps, 'bootstrap.expired', oldest, facts))
  }
  throw refusal('unavailable')
}
