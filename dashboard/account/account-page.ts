import { factorsShape } from '../../webauthn-page/api/contract.ts'
import { get } from '../../webauthn-page/api/request.ts'
import { el } from '../../webauthn-page/dom/element.ts'
import { facts } from '../../webauthn-page/dom/facts.ts'
import { callerText } from '../../webauthn-page/show/caller-text.ts'
import type { PageContext, PageView } from '../shell/page-entry.ts'
import { apiKeysSection, loadApiKeys } from './api-keys.ts'
import { chatSection, loadChat } from './chat.ts'
import { codesSection } from './codes.ts'
import { consentsSection, loadConsents } from './consents-section.ts'
import { passkeysSection } from './passkeys.ts'
import { loadPending } from './waiting-list.ts'
import { waitingSection } from './waiting-section.ts'

/** `/account`: what waits for the person, own factors, chat and, for owners, API keys. */
export async function accountPage({ user, done }: PageContext): Promise<PageView> {
  const [pending, factors, keys, chat, consents] = await Promise.all([
    loadPending(),
    get('/me/factors', factorsShape),
    loadApiKeys(),
    loadChat(),
    loadConsents(),
  ])
  const keyPart = keys === undefined ? undefined : apiKeysSection(keys, done)
  const factorParts = [passkeysSection(factors, done), codesSection(factors, done), chatSection(chat, done)]
  const scene = el(
    'div',
    { class: 'account' },
    el('h1', {}, 'Your account'),
    waitingSection(pending),
    consentsSection(consents),
    facts(
      ['Name', callerText(user.name)],
      ['E-mail', callerText(user.email)],
      [
        'Approver reference',
        el('span', { class: 'mono' }, user.approver),
        el('span', { class: 'kind' }, ' stands for you in receipts'),
      ],
    ),
    // Whoever has just set the service up came for a key; whoever has keys came for something else.
    ...(keys?.length === 0 ? [keyPart, ...factorParts] : [...factorParts, keyPart]),
  )
  return { title: 'Account', scene }
}
