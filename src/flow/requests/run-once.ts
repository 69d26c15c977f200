import { Refusal, refusal } from '../../domain/errors.ts'
import { canonicalize } from '../../signing/canonical.ts'
import { sha256Hex } from '../../signing/digest.ts'
import type { FlowDeps } from '../deps.ts'

/** An answer as it goes out: status and JSON text. */
interface Answer {
  status: number
  body: string
}

/** Milliseconds between renewals of a claim, well before its lease ends (`store/requests/idempotency.ts`). */
const RENEW_EVERY_MS = 3_000

/**
 * Runs a POST at most once per `Idempotency-Key`: a repeat with the same body gets the first answer again, byte for byte. A
 * refusal leaves no trace, so that the caller may correct the body and reuse the key.
 * @param key undefined = the header was not sent: simply run it
 * @param subject id for the new resource; after a crash the next attempt is given the first attempt's id, and `resumed`
 * @throws Refusal `idempotency_mismatch`, `idempotency_in_progress`, and those of `run`
 */
export async function runOnce(
  deps: FlowDeps,
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
  const held = { scope, key, token: claimed.token }
  const renewal = setInterval(() => {
    // If it is not renewed, the claim lapses, and the next attempt makes the same resource.
    deps.idempotency.renew(held, deps.clock.now()).catch(ignore)
  }, RENEW_EVERY_MS)
  try {
    const answer = await run({ id: claimed.subject, resumed: claimed.subject !== subject })
    await deps.idempotency.finish({ ...held, answer })
    return { ...answer, replayed: false }
  } catch (error) {
    // Only a refusal is known to have left nothing behind. After any other error the next attempt continues this one.
    const over = error instanceof Refusal ? deps.idempotency.release(held) : deps.idempotency.abandon(held)
    const settled = over.catch(ignore)
    // A store that is down has just kept the caller waiting, and would do so again.
    if (!deps.storeIsDown(error)) await settled
    throw error
  } finally {
    clearInterval(renewal)
  }
}

function ignore(): void {}
