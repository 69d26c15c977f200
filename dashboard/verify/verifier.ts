import { JwksError } from '../../src/signing/jwks.ts'
import type { VerificationKey } from '../../src/signing/key-record.ts'
import type { ExpectedPayload } from '../../src/signing/receipt-checks.ts'
import { splitVotes } from '../../src/signing/votes.ts'
import { RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { askService } from './ask-service.ts'
import { checkReceipts, type Report } from './check-receipts.ts'
import type { Subject } from './read-subject.ts'
import { fetchKeys } from './service-keys.ts'

/** What came of checking something. */
export type Outcome =
  | { kind: 'report'; report: Report; keys: readonly VerificationKey[] }
  /** The service has no receipt for the id. */
  | { kind: 'none'; heading: string; sentence: string }
  /** Nothing could be checked. */
  | { kind: 'problem'; sentence: string }

/**
 * Checks what somebody brought. Only an id makes a call with something in it; a receipt is checked with the published keys,
 * or without any call where `pinned` keys are given.
 */
export async function verifySubject(
  subject: Subject,
  pinned: readonly VerificationKey[] | undefined,
): Promise<Outcome> {
  if (subject.kind === 'problem') return subject
  // Browsers keep their cryptography from pages that came in the clear.
  if (!isSecureContext) return { kind: 'problem', sentence: 'This only works over https (or on localhost).' }
  try {
    if (subject.kind === 'receipt') return await checked(subject.json, pinned)
    const answer = await askService(subject.id)
    if (answer.kind === 'none') return answer
    return await checked(answer.json, pinned, { [subject.of === 'request' ? 'rid' : 'did']: subject.id })
  } catch (error) {
    if (error instanceof RequestFailure) return { kind: 'problem', sentence: error.message }
    if (error instanceof JwksError)
      return {
        kind: 'problem',
        sentence: `The service publishes a key set that cannot be trusted: ${error.message}.`,
      }
    throw error
  }
}

async function checked(
  json: object,
  pinned: readonly VerificationKey[] | undefined,
  expected?: ExpectedPayload,
): Promise<Outcome> {
  const keys = pinned ?? (await fetchKeys())
  const report = await checkReceipts(splitVotes(json), keys, { now: new Date(), expected })
  return { kind: 'report', report, keys }
}
