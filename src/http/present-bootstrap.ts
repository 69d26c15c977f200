import {
  BOOTSTRAP_MINUTES,
  type Bootstrap,
  POLL_SECONDS,
  showMatchingCode,
  WRONG_CODES,
} from '../domain/bootstrap.ts'
import type { PollAnswer } from '../flow/bootstrap/poll-bootstrap.ts'
import type { ConsentReview } from '../flow/bootstrap/review-consent.ts'

/** The answer to whoever begins; the same for an e-mail address that nobody has (T51). */
export function presentStarted(bootstrapId: string, bootstrap: Bootstrap, baseUrl: string) {
  const code = showMatchingCode(bootstrap.code)
  return {
    bootstrap_id: bootstrapId,
    status: bootstrap.status,
    message:
      `Ask the owner of the account to confirm the code ${code}: signed in at ${baseUrl}/ they find this request, ` +
      `if the account exists. It ends in ${BOOTSTRAP_MINUTES} minutes; poll its status every ${POLL_SECONDS} seconds.`,
    expires_at: bootstrap.expires_at.toISOString(),
    interval: POLL_SECONDS,
  }
}

/** The answer to a poll. Which of the others it is — wrong, late, second — is no news for strangers. */
export function presentPoll({ status, api_key }: PollAnswer) {
  return { status, ...(api_key === undefined ? {} : { api_key }) }
}

/** A row of what waits for consent. Never the matching code: the owner must bring it from the caller. */
export function presentWaiting(bootstrap: Bootstrap) {
  const { id, client_name, requester, scopes } = bootstrap
  return {
    id,
    client_name,
    requester: { address: requester.address, user_agent: requester.user_agent },
    scopes,
    created_at: bootstrap.created_at.toISOString(),
    expires_at: bootstrap.expires_at.toISOString(),
  }
}

/** Everything the owner sees before and after consent. */
export function presentConsent({ bootstrap, methods, serverTime }: ConsentReview) {
  const { consent, collected } = bootstrap
  return {
    ...presentWaiting(bootstrap),
    status: bootstrap.status,
    server_time: serverTime.toISOString(),
    tries_left: WRONG_CODES - bootstrap.wrong_codes,
    methods,
    ...(consent === undefined
      ? {}
      : { consent: { decision: consent.decision, method: consent.method, at: consent.at.toISOString() } }),
    ...(collected === undefined
      ? {}
      : {
          collected: {
            at: collected.at.toISOString(),
            ...(collected.address === undefined ? {} : { address: collected.address }),
            ...(bootstrap.key_id === undefined ? {} : { key_id: bootstrap.key_id }),
          },
        }),
  }
}
