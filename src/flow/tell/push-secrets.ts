import { drawEntry } from '../../domain/audit.ts'
import { refusal } from '../../domain/errors.ts'
import type { PushDevice, PushSubscription } from '../../domain/push.ts'
import type { Clock, Log, PushSender, Random, VapidKeys, Vault } from '../../ports/ports.ts'
import { SealError } from '../../signing/vault.ts'
import type { PushKeyStore, SealedPushKey } from '../../store/delivery/push-keys.ts'
import type { PushKeyKeeper } from '../deps.ts'

interface KeyDeps {
  vault: Vault
  clock: Clock
  random: Random
  log: Log
  store: PushKeyStore
  sender: Pick<PushSender, 'newKeys'>
}

const AAD = 'push-key:vapid'

/** Creates the keeper. The pair never changes: every browser's subscription is bound to it. */
export function createPushKeyKeeper(deps: KeyDeps): PushKeyKeeper {
  let keys: VapidKeys | undefined
  let off = false
  return {
    isOff: () => off,
    current(): VapidKeys {
      if (off) throw refusal('unavailable')
      if (keys === undefined) throw new Error('the push key is not loaded yet')
      return keys
    },
    async ensure(): Promise<void> {
      try {
        const stored = await deps.store.find()
        keys = stored === undefined ? await make(deps) : unseal(deps, stored)
      } catch (error) {
        if (!(error instanceof SealError)) throw error
        off = true
        deps.log.error(
          {},
          'the key for push notifications cannot be decrypted with this SEALING_KEY, so none are sent',
        )
      }
    },
  }
}

async function make(deps: KeyDeps): Promise<VapidKeys> {
  const keys = await deps.sender.newKeys()
  const at = deps.clock.now()
  const actor = { kind: 'service' } as const
  const made = drawEntry(deps, { type: 'push_key.created', at, actor, subject: 'vapid' })
  const won = await deps.store.insert({
    public_key: keys.public_key,
    sealed_private_key: deps.vault.seal(Buffer.from(keys.private_key, 'utf8'), AAD),
    created_at: at,
    audit: [made],
  })
  if (won) {
    deps.log.info({}, 'made the key for push notifications')
    return keys
  }
  const other = await deps.store.find()
  if (other === undefined) throw new Error('two processes made a push key at once, and none is there')
  return unseal(deps, other)
}

function unseal(
  { vault }: Pick<KeyDeps, 'vault'>,
  { public_key, sealed_private_key }: SealedPushKey,
): VapidKeys {
  return { public_key, private_key: Buffer.from(vault.open(sealed_private_key, AAD)).toString('utf8') }
}

/** Binds a sealed subscription to its endpoint: sealed texts that are swapped do not open. */
function aadOf(endpointHash: string): string {
  return `push-subscription:${endpointHash}`
}

/** Seals a subscription as one line of parts separated by blanks: neither a checked URL nor base64url contains one. */
export function sealSubscription(
  vault: Pick<Vault, 'hash' | 'seal'>,
  { endpoint, p256dh, auth }: PushSubscription,
): { endpoint_hash: string; sealed: string } {
  const endpoint_hash = vault.hash('push-endpoint', endpoint)
  const sealed = vault.seal(Buffer.from(`${endpoint} ${p256dh} ${auth}`, 'utf8'), aadOf(endpoint_hash))
  return { endpoint_hash, sealed }
}

/** Opens a subscription. @returns undefined when it is gone or was sealed under another key */
export function openSubscription(
  vault: Pick<Vault, 'open'>,
  { sealed, endpoint_hash }: Pick<PushDevice, 'sealed' | 'endpoint_hash'>,
): PushSubscription | undefined {
  if (sealed === undefined || endpoint_hash === undefined) return undefined
  try {
    const line = Buffer.from(vault.open(sealed, aadOf(endpoint_hash))).toString('utf8')
    const [endpoint, p256dh, auth] = line.split(' ')
    if (endpoint === undefined || p256dh === undefined || auth === undefined) return undefined
    return { endpoint, p256dh, auth }
  } catch {
    return undefined
  }
}
