import { el } from '../../webauthn-page/kit/dom/element.ts'
import { moment } from '../../webauthn-page/kit/dom/moment.ts'
import type { Card, Delivery } from '../requests/request-shapes.ts'
import { tag } from './rows.ts'

/** The states of a delivery, in words. */
export const DELIVERY_STATES: Record<Delivery['state'], string> = {
  due: 'Waiting for its next attempt',
  sending: 'Being sent',
  delivered: 'Delivered',
  dead: 'Given up',
  dropped: 'Dropped',
}

/** The state of a delivery as a tag; deliveries that were given up or dropped stand out. */
export function stateTag(state: Delivery['state']): HTMLElement {
  const look = state === 'delivered' ? 'live' : state === 'dead' || state === 'dropped' ? 'warn' : ''
  return tag(DELIVERY_STATES[state], look)
}

/** The states of a card in chat, in words. */
export const CARD_STATES: Record<Card['state'], string> = {
  due: 'Waiting to be sent',
  sending: 'Being sent',
  shown: 'Up to date',
  behind: 'Shows an older state',
  not_sent: 'Not sent',
  unreachable: 'No recipient found',
}

/** The outcome of one attempt, in words. */
export function outcomeWord(outcome: string): string {
  const status = /^http_(\d{3})$/.exec(outcome)?.[1]
  if (status !== undefined) return `answered with status ${status}`
  const words: Record<string, string> = {
    accepted: 'accepted',
    blocked: 'address not allowed',
    connect_failed: 'no connection',
    timeout: 'no answer in time',
    interrupted: 'interrupted',
    unsigned: 'could not be signed',
    unreachable: 'no recipient found',
    rate_limited: 'too many calls',
    failed: 'failed',
  }
  return words[outcome] ?? outcome
}

/** Names of chat platforms. */
/** The recipient of a card whose name is not shown. */
export const RECIPIENTS: Record<Card['recipient'], string> = {
  approver: 'An approver',
  channel: 'A channel',
  member: 'A member who is told the outcome',
}

export const PLATFORMS: Record<Card['platform'], string> = { slack: 'Slack', teams: 'Teams' }

/** One attempt to send a delivery or a card; for a card, `what` says what was tried. */
export interface Attempt {
  at: string
  what?: string
  outcome: string
  duration_ms: number
}

/** The number of attempts and the outcome of the last one; opened, all attempts. */
export function attemptList(attempts: readonly Attempt[]): HTMLElement {
  const last = attempts.at(-1)
  const said = attempts.length === 1 ? '1 attempt' : `${attempts.length} attempts`
  const rows = attempts.map(({ at, what, outcome, duration_ms }) => {
    const tried = what === undefined ? '' : `${what}, `
    return el('li', {}, moment(at), `: ${tried}${outcomeWord(outcome)} (${duration_ms} ms)`)
  })
  return el(
    'details',
    { class: 'attempts' },
    el('summary', {}, last === undefined ? said : `${said}, the last: ${outcomeWord(last.outcome)}`),
    el('ol', {}, ...rows),
  )
}
