import { factorsShape } from '../../webauthn-page/api/contract.ts'
import { get } from '../../webauthn-page/api/request.ts'
import { el } from '../../webauthn-page/dom/element.ts'
import { facts } from '../../webauthn-page/dom/facts.ts'
import { callerText } from '../../webauthn-page/show/caller-text.ts'
import type { PageContext, PageView } from '../shell/page-entry.ts'
import { chatSection, loadChat } from './chat.ts'
import { codesSection } from './codes.ts'
import { passkeysSection } from './passkeys.ts'

/** `/account`: own factors and chat. */
export async function accountPage({ user, done }: PageContext): Promise<PageView> {
  const [factors, chat] = await Promise.all([get('/me/factors', factorsShape), loadChat()])
  const scene = el(
    'div',
    { class: 'account' },
    el('h1', {}, 'Your account'),
    facts(
      ['Name', callerText(user.name)],
      ['E-mail', callerText(user.email)],
      [
        'Approver reference',
        el('span', { class: 'mono' }, user.approver),
        el('span', { class: 'kind' }, ' stands for you in receipts'),
      ],
    ),
    passkeysSection(factors, done),
    codesSection(factors, done),
    chatSection(chat, done),
  )
  return { title: 'Account', scene }
}
