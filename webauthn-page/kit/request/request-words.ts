import type { Outcome } from '../../../src/domain/receipt.ts'
import type { Review } from '../api/contract.ts'
import { el, mono } from '../dom/element.ts'
import { notice } from '../dom/notice.ts'
import { callerText } from '../show/caller-text.ts'

/** Returns the first heading of the page for a request's state. */
export function headingOf(review: Review): string {
  const mine = review.votes.find((vote) => vote.mine)
  if (review.status === 'pending') {
    if (mine !== undefined) return `You ${mine.decision}. Waiting for others`
    return review.may_decide ? 'Approve or reject this action?' : 'Waiting for a decision'
  }
  if (review.status === 'expired')
    return review.cancelled === true ? 'Withdrawn' : 'Expired without a decision'
  return review.status === 'approved' ? 'Approved' : 'Rejected'
}

/** The noun for each outcome. */
export const WORD_OF: Record<Outcome, string> = { approved: 'approval', rejected: 'rejection' }

/** Shows a person whom the service names by reference. */
export type WritePerson = (reference: string) => HTMLElement

/** Shows a person by name, with the reference that receipts hold one press away; without a known name, by reference. */
export function byName(names: Readonly<Record<string, string>> | undefined): WritePerson {
  return (reference) => {
    const name = names?.[reference]
    return name === undefined ? mono(reference) : namedPerson(name, reference)
  }
}

function namedPerson(name: string, reference: string): HTMLElement {
  const shown = el('span', { class: 'mono', hidden: true }, ` ${reference}`)
  const button = el(
    'button',
    { type: 'button', class: 'person', 'aria-expanded': 'false', title: `${reference} in receipts` },
    callerText(name),
  )
  button.addEventListener('click', () => {
    shown.hidden = !shown.hidden
    button.setAttribute('aria-expanded', String(!shown.hidden))
  })
  return el('span', {}, button, shown)
}

/** The sandbox decides in its owner's name, but the owner has done nothing: no page names them as the decider. */
export const SANDBOX_DECIDED = 'Decided by the sandbox, no person'

/** Returns the service's name inside every signature: the origin this page was loaded from. */
export function audience(): string {
  return location.origin
}

/**
 * Warns that the key was revoked: it may have been stolen, and its earlier requests still wait (the interface's "Revoking a
 * key is immediate" speaks only of its calls), so the person who decides must know. Undefined for a key in use.
 */
export function revokedKeyNote(asker: { key_revoked?: boolean | undefined }): HTMLElement | undefined {
  return asker.key_revoked === true ? notice('warning', REVOKED_KEY) : undefined
}

export const REVOKED_KEY =
  'This API key was revoked after it made the request. Reject the request unless you know that it should still be carried out.'
