import { examineJwks } from '../../src/signing/examine-receipt.ts'
import type { VerificationKey } from '../../src/signing/key-record.ts'
import { RequestFailure } from '../../webauthn-page/kit/api/request.ts'

const TIMEOUT_MS = 20_000

/**
 * The published keys of this service, as they are now: a copy from before could miss a revocation. Nothing of a receipt
 * goes along.
 * @throws RequestFailure; JwksError for a set that cannot be trusted
 */
export async function fetchKeys(): Promise<VerificationKey[]> {
  const response = await fetch('/.well-known/jwks.json', {
    credentials: 'omit',
    cache: 'no-cache',
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch(() => undefined)
  if (response?.ok !== true)
    throw new RequestFailure(
      response?.status ?? 0,
      'no_keys',
      'The keys of this service could not be fetched, so nothing was checked. Try again, or use a key set that you saved.',
    )
  return examineJwks(await response.json().catch(() => undefined))
}
