import { examineJwks } from '../../src/signing/examine-receipt.ts'
import { JwksError } from '../../src/signing/jwks.ts'
import type { VerificationKey } from '../../src/signing/key-record.ts'
import type { ExpectedPayload } from '../../src/signing/receipt-checks.ts'
import { splitVotes } from '../../src/signing/votes.ts'
import { RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { isRecord } from '../../webauthn-page/kit/api/shape.ts'
import { checkReceipts, type Report } from './check-receipts.ts'
import type { Subject } from './read-subject.ts'

/** What came of checking something. */
export type Outcome =
  | { kind: 'report'; report: Report; keys: readonly VerificationKey[] }
  /** The service has no receipt for the id. */
  | { kind: 'none'; heading: string; sentence: string }
  /** Nothing could be checked. */
  | { kind: 'problem'; sentence: string }

/**
 * Checks what the visitor brought. Only an id makes a call with something in it; a receipt is checked with the published keys,
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

const TIMEOUT_MS = 20_000

/** What the service has for an id: a receipt to check, or its word that there is none. */
type ServiceAnswer = { kind: 'receipt'; json: object } | { kind: 'none'; heading: string; sentence: string }

/** Fetches the receipt of a request or decision by its id. Nothing of the answer is believed. @throws RequestFailure */
async function askService(id: string): Promise<ServiceAnswer> {
  const response = await fetch(`/api/v1/approvals/${encodeURIComponent(id)}/verify`, {
    credentials: 'omit',
    cache: 'no-store',
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch(() => undefined)
  if (response === undefined)
    throw new RequestFailure(
      0,
      'network',
      'The service does not answer. Check your connection and try again.',
    )
  const answer: unknown = await response.json().catch(() => undefined)
  if (isRecord(answer) && answer.valid === true && response.ok) return { kind: 'receipt', json: answer }
  if (isRecord(answer) && answer.valid === false) return without(answer)
  throw new RequestFailure(response.status, 'refused', refusalOf(response.status))
}

function refusalOf(status: number): string {
  return status === 429
    ? 'Too many verifications from your address. Wait a minute and try again.'
    : `The service answered with status ${status}. Try again in a moment.`
}

/** The status is the service's own word: there is nothing signed to check it by. */
function without({ status, message }: Record<string, unknown>): ServiceAnswer {
  const known = typeof status === 'string' ? status : 'unknown'
  const heading = HEADINGS[known] ?? 'Not valid: the service does not stand by this receipt'
  const said = typeof message === 'string' ? message : ''
  return { kind: 'none', heading, sentence: said }
}

const HEADINGS: Readonly<Record<string, string>> = {
  unknown: 'No such request here',
  pending: 'Not decided yet',
  expired: 'Never decided',
}

const TIMEOUT_MS2 = 20_000

/**
 * The published keys of this service, as they are now: a copy from before could miss a revocation. Nothing of a receipt
 * goes along.
 * @throws RequestFailure; JwksError for a set that cannot be trusted
 */
async function fetchKeys(): Promise<VerificationKey[]> {
  const response = await fetch('/.well-known/jwks.json', {
    credentials: 'omit',
    cache: 'no-cache',
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS2),
  }).catch(() => undefined)
  if (response?.ok !== true)
    throw new RequestFailure(
      response?.status ?? 0,
      'no_keys',
      'The keys of this service could not be fetched, so nothing was checked. Try again, or use a key set that you saved.',
    )
  return examineJwks(await response.json().catch(() => undefined))
}
