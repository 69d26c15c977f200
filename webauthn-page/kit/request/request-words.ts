import type { Outcome } from '../../../src/domain/receipt.ts'
import type { Review } from '../api/contract.ts'
import { el, mono } from '../dom/element.ts'
import { notice } from '../dom/notice.ts'
import { callerText } from '../show/caller-text.ts'

/** The first heading of the page for each state. */
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

/** What a person's word is called. */
export const WORD_OF: Record<Outcome, string> = { approved: 'approval', rejected: 'rejection' }

/** How a page writes a person whom the service names by reference. */
export type WritePerson = (reference: string) => HTMLElement

/** By name as far as these are known, with the reference that receipts hold one press away; else by reference. */
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

/** The sandbox decides in the name of its owner, who has done nothing: no page names them as the one who decided. */
export const SANDBOX_DECIDED = 'Decided by the sandbox, no person'

/** The name of the service inside every signature: the address this page was loaded from. */
export function audience(): string {
  return location.origin
}

/**
 * A revoked key may have been stolen: what it asked for before still waits (the interface's "Revoking a key is
 * immediate" speaks of its calls alone), so the person who decides must know. Undefined for a key in use.
 */
export function revokedKeyNote(asker: { key_revoked?: boolean | undefined }): HTMLElement | undefined {
  return asker.key_revoked === true ? notice('warning', REVOKED_KEY) : undefined
}

export const REVOKED_KEY =
  'This API key was revoked after it asked. Reject this unless you know that it should still happen.'
