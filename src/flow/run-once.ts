import { Refusal, refusal } from '../domain/errors.ts'
import { canonicalize } from '../signing/canonical.ts'
import { sha256Hex } from '../signing/encoding.ts'
import type { FlowDeps } from './deps.ts'

/** An answer as it goes out: status and JSON text. */
interface Answer {
  status: number
  body: string
}

/**
 * Runs a POST at most once per `Idempotency-Key`: the same body gets the first answer again, byte for byte. A refusal
 * leaves no trace, so that the caller may correct the body and reuse the key.
 * @param key undefined = the header was not sent: simply run it
 * @param subject id for the new resource; after a crash the next attempt is given the one of the first, as `resumed`
 * @throws Refusal `idempotency_mismatch`, `idempotency_in_progress`, and those of `run`
 */
export async function runOnce(
  deps: Pick<FlowDeps, 'idempotency' | 'clock'>,
  claim: { scope: string; key: string | undefined; body: unknown; subject: string },
  run: (resource: { id: string; resumed: boolean }) => Promise<Answer>,
): Promise<Answer & { replayed: boolean }> {
  const { scope, key, body, subject } = claim
  if (key === undefined) return { ...(await run({ id: subject, resumed: false })), replayed: false }
  const bodySha256 = sha256Hex(canonicalize(body))
  const claimed = await deps.idempotency.claim({ scope, key, bodySha256, subject, at: deps.clock.now() })
  if (claimed.state === 'replay') return { status: claimed.status, body: claimed.body, replayed: true }
  if (claimed.state === 'mismatch') throw refusal('idempotency_mismatch')
  if (claimed.state === 'running') throw refusal('idempotency_in_progress')
  const { token } = claimed
  const resource = { id: claimed.subject, resumed: claimed.subject !== subject }
  const answer = await run(resource).catch(async (error: unknown) => {
    // Only a refusal is known to have left nothing behind; after any other error the claim stays and lapses by itself.
    if (error instanceof Refusal) await deps.idempotency.release({ scope, key, token })
    throw error
  })
  await deps.idempotency.finish({ scope, key, token, answer })
  return { ...answer, replayed: false }
}
