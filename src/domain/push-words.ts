import type { Bootstrap } from './bootstrap.ts'
import { shortLine } from './cut-text.ts'
import { type FactorNotice, NOTICE_ADVICE, noticeHeading, noticeSentences } from './factor-notice.ts'
import type { ApprovalRequest } from './request.ts'
import { visibleString } from './text.ts'

/** What a browser shows, and what it opens on a click. */
export interface PushPayload {
  /** Our words alone. */
  title: string
  body: string
  /** A path of ours; never one that decides. */
  url: string
  /** A later notification with the same tag takes the place of the earlier one. */
  tag: string
}

/** In UTF-16 units. With both at four bytes each the payload is far below the 3993 bytes that push services take. */
const ACTION_LENGTH = 300
const NAME_LENGTH = 80

/** What waits, by whom it is asked: the caller's words in visible form, below ours. Never the context, never a secret. */
export function requestPush(
  request: Pick<ApprovalRequest, 'id' | 'action' | 'requested_by' | 'high_impact'>,
  kind: 'request' | 'reminder',
): PushPayload {
  const { key_name, account_name } = request.requested_by
  const heading = kind === 'request' ? 'A request waits for your decision' : 'Still waiting for your decision'
  return {
    title: request.high_impact ? `High impact: ${lowerFirst(heading)}` : heading,
    body: `${line(request.action, ACTION_LENGTH)}\nAsked by ${line(key_name)} (${line(account_name)})`,
    url: `/a/${request.id}`,
    tag: request.id,
  }
}

/** An agent that asks for a key of the account. Its name is its own word; the matching code stays with the agent. */
export function consentPush({ id, client_name, requester }: Bootstrap): PushPayload {
  return {
    title: 'An agent asks for an API key of your account',
    body: `It calls itself “${line(client_name)}”, unverified. Asked from ${requester.address}.`,
    url: `/b/${id}`,
    tag: id,
  }
}

/** A change of factors or rights. */
export function noticePush(notice: FactorNotice, eventId: string): PushPayload {
  return {
    title: noticeHeading(notice),
    body: [...noticeSentences(notice), NOTICE_ADVICE].join(' '),
    url: '/account',
    tag: eventId,
  }
}

/** The push of `POST /me/push/:id/test`. */
export const TEST_PUSH: PushPayload = {
  title: 'Notifications work',
  body: 'Requests that wait for you will be shown like this.',
  url: '/account',
  tag: 'test',
}

function line(text: string, most = NAME_LENGTH): string {
  return shortLine(visibleString(text), most)
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
