import { RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { isRecord } from '../../webauthn-page/kit/api/shape.ts'

const TIMEOUT_MS = 20_000

/** What the service has for an id: a receipt to check, or its word that there is none. */
export type ServiceAnswer =
  | { kind: 'receipt'; json: object }
  | { kind: 'none'; heading: string; sentence: string }

/** Fetches the receipt of a request or decision by its id. Nothing of the answer is believed. @throws RequestFailure */
export async function askService(id: string): Promise<ServiceAnswer> {
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
