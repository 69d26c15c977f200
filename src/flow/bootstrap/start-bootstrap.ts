import {
  BOOTSTRAP_MINUTES,
  BOOTSTRAP_SCOPES,
  BOOTSTRAPS_AN_HOUR,
  type Bootstrap,
  drawMatchingCode,
} from '../../domain/bootstrap.ts'
import { drawEvent } from '../../domain/event.ts'
import { consentRequestedData } from '../../domain/event-data.ts'
import { given } from '../../domain/given.ts'
import { drawId } from '../../domain/identifier.ts'
import type { LimitState } from '../../domain/limits.ts'
import { isVouchedFor } from '../../domain/user.ts'
import { toBase64Url } from '../../signing/base64.ts'
import type { FlowDeps } from '../deps.ts'
import { bootstrapAudit } from './settle-bootstrap.ts'

/** What the caller sends, and where it comes from. */
export interface BootstrapInput {
  /** Normalised. */
  email: string
  clientName: string
  codeChallenge?: string
  requester: Bootstrap['requester']
}

/** Counts a bootstrap for this e-mail address, known or not, service-wide. @returns what is left of the hour's five */
export function countBootstrap({ attempts, vault }: FlowDeps, email: string): Promise<LimitState> {
  return attempts.take(`bootstrap:${vault.hash('bootstrap-email', email)}`, BOOTSTRAPS_AN_HOUR)
}

/**
 * Begins a bootstrap. An e-mail address without an account gets a decoy: a record that is written, polled and expired like any
 * other, so that neither the answer nor its timing tells who has an account (T51).
 * @returns the `bootstrap_id`, which is stored nowhere, and the record
 */
export async function startBootstrap(
  deps: FlowDeps,
  input: BootstrapInput,
): Promise<{ bootstrap_id: string; bootstrap: Bootstrap }> {
  const found = await deps.users.findByEmail(input.email)
  const owner = found !== undefined && isVouchedFor(found) && !found.no_account ? found : undefined
  const bootstrap_id = `boot_${toBase64Url(deps.random.bytes(32))}`
  const bootstrap = build(deps, input, bootstrap_id, owner?.account_id)
  await deps.bootstraps.insert(bootstrap)
  return { bootstrap_id, bootstrap }
}

/** Hashes a `bootstrap_id`, with another key than e-mail addresses: neither table of hashes helps with the other. */
export function bootstrapHash({ vault }: FlowDeps, bootstrapId: string): string {
  return vault.hash('bootstrap', bootstrapId)
}

function build(
  deps: FlowDeps,
  input: BootstrapInput,
  bootstrapId: string,
  accountId: string | undefined,
): Bootstrap {
  const at = deps.clock.now()
  const bootstrap: Bootstrap = {
    id: drawId(deps, 'bst'),
    version: 1,
    secret_hash: bootstrapHash(deps, bootstrapId),
    ...given({ account_id: accountId }),
    status: 'pending',
    client_name: input.clientName,
    code: drawMatchingCode(deps.random),
    scopes: [...BOOTSTRAP_SCOPES],
    ...given({ code_challenge: input.codeChallenge }),
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
  const told = consentRequestedData(bootstrap, deps.settings.baseUrl)
  const event = drawEvent(deps, 'bootstrap.requested', at, told)
  // A decoy's event reaches no webhook, since it has no account; writing it makes the two cases the same work.
  return { ...bootstrap, outbox: [event], audit: [audit] }
}
