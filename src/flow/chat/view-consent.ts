import type { Bootstrap } from '../../domain/bootstrap.ts'
import type { ConsentStatus, ConsentView } from '../../domain/consent-view.ts'
import { visibleString } from '../../domain/text.ts'
import { mixedScriptWarning } from '../../domain/text-scripts.ts'

/** What a card shows of a bootstrap as it is stored: two renderings of one version are equal, on every platform. */
export function viewConsent(bootstrap: Bootstrap, baseUrl: string): ConsentView {
  const look_alike = mixedScriptWarning(bootstrap.client_name)
  return {
    kind: 'consent',
    request_id: bootstrap.id,
    version: bootstrap.version,
    audience: 'approver',
    status: statusOf(bootstrap),
    client_name: visibleString(bootstrap.client_name).replace(/\s+/g, ' '),
    ...(look_alike === undefined ? {} : { look_alike }),
    scopes: bootstrap.scopes,
    requested_from: bootstrap.requester.address,
    created_at: bootstrap.created_at,
    expires_at: bootstrap.expires_at,
    links: { details: `${baseUrl}/b/${bootstrap.id}` },
  }
}

function statusOf({ status, consent, collected }: Bootstrap): ConsentStatus {
  if (collected !== undefined) {
    const { at, address } = collected
    return { kind: 'collected', at, ...(address === undefined ? {} : { address }) }
  }
  if (status === 'pending' || status === 'expired') return { kind: status }
  if (consent === undefined) return { kind: 'rejected' }
  const { at, method } = consent
  return status === 'approved' ? { kind: status, at, method } : { kind: status, by_owner: { at, method } }
}
