import { el } from '../../webauthn-page/kit/dom/element.ts'
import type { PageContext, PageView } from '../shell/page-entry.ts'
import { consentsSection, loadConsents } from './consents-section.ts'
import { firstRun, neverHadKey } from './first-run.ts'
import { invitationsSection } from './invitations-section.ts'
import { loadPending } from './waiting-list.ts'
import { waitingSection } from './waiting-section.ts'

/** `/`: everything that waits for the person, whatever account it belongs to; for a new owner, how to begin. */
export async function inboxPage(context: PageContext): Promise<PageView> {
  const { user, account, invitations, done, signal } = context
  // Whoever came to decide for somebody else's account has not come to set up their own.
  const owns = account.own && account.role === 'owner'
  const [pending, consents, isNew] = await Promise.all([loadPending(), loadConsents(), owns && neverHadKey()])
  const guide = isNew ? firstRun() : undefined
  const waiting = waitingSection(pending, {
    actor: user.approver,
    signal,
    auditor: account.role === 'auditor',
    ...(guide === undefined ? {} : { follow: guide.show }),
  })
  const scene = el(
    'div',
    { class: 'inbox' },
    el('h1', {}, 'Inbox'),
    invitationsSection(invitations, done),
    guide?.element,
    waiting,
    consentsSection(consents),
  )
  return { title: 'Inbox', scene }
}
