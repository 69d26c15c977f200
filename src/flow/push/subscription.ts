import type { PushDevice, PushSubscription } from '../../domain/push.ts'
import type { Vault } from '../ports.ts'

/** What the subscription is sealed for: sealed texts that are swapped do not open. */
function aadOf(endpointHash: string): string {
  return `push-subscription:${endpointHash}`
}

/** One line: neither a checked URL nor base64url holds a blank. */
export function sealSubscription(
  vault: Pick<Vault, 'hash' | 'seal'>,
  { endpoint, p256dh, auth }: PushSubscription,
): { endpoint_hash: string; sealed: string } {
  const endpoint_hash = vault.hash('push-endpoint', endpoint)
  const sealed = vault.seal(Buffer.from(`${endpoint} ${p256dh} ${auth}`, 'utf8'), aadOf(endpoint_hash))
  return { endpoint_hash, sealed }
}

/** @returns undefined when it is gone, or was sealed under another key */
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
