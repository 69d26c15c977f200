import type { FlowDeps } from '../deps.ts'

/** 64 hex characters; receivers use their ASCII as the key (security §5.3). */
const SECRET_BYTES = 32

/** A fresh secret of a webhook: shown once, kept only sealed, and only for this webhook (T28). */
export function drawSecret(
  deps: Pick<FlowDeps, 'random' | 'vault'>,
  webhookId: string,
): { secret: string; sealed_secret: string } {
  const secret = Buffer.from(deps.random.bytes(SECRET_BYTES)).toString('hex')
  return { secret, sealed_secret: deps.vault.seal(Buffer.from(secret, 'ascii'), webhookId) }
}
