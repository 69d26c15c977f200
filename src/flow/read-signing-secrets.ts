import type { ApiKey } from '../domain/api-key.ts'
import type { AuditActor, AuditEntry } from '../domain/audit.ts'
import { drawId } from '../domain/identifier.ts'
import { type Caller, callerActor } from './authenticate-caller.ts'
import type { FlowDeps } from './deps.ts'
import { requireRecentProof } from './people/recent-proof.ts'
import type { SignedIn } from './people/sessions.ts'

/** A key with what the callbacks of its requests are signed with. */
interface KeySecret {
  key: ApiKey
  secret: string
}

/** The secret of the key that asks. The trail has every read: who holds a secret can make callbacks that look like ours. */
export async function readOwnSecret(deps: FlowDeps, caller: Caller): Promise<string> {
  const { key } = caller
  await deps.audit.append(readEntry(deps, key, callerActor(caller)))
  return deps.vault.webhookSecret(key.id, key.secret_version)
}

/** Those of all keys of the person's account that are not revoked. @throws Refusal `proof_required` */
export async function readAccountSecrets(
  deps: FlowDeps,
  who: SignedIn,
  address: string,
): Promise<KeySecret[]> {
  requireRecentProof(deps, who)
  const { id, account_id } = who.user
  const live = (await deps.apiKeys.list(account_id)).filter((key) => key.revoked_at === null)
  const actor = { kind: 'user', id, address } as const
  if (live.length > 0) await deps.audit.append(...live.map((key) => readEntry(deps, key, actor)))
  return live.map((key) => ({ key, secret: deps.vault.webhookSecret(key.id, key.secret_version) }))
}

function readEntry(deps: FlowDeps, { id, account_id }: ApiKey, actor: AuditActor): AuditEntry {
  const eid = drawId(deps, 'evt')
  return { eid, type: 'key.secret_read', at: deps.clock.now(), actor, account_id, subject: id }
}
