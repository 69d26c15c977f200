import { factorsShape } from '../../webauthn-page/kit/api/contract.ts'
import { get } from '../../webauthn-page/kit/api/request.ts'
import { el, facts } from '../../webauthn-page/kit/dom/element.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import type { PageContext, PageView } from '../shell/page-entry.ts'
import { chatSection, loadChat } from './chat.ts'
import { codesSection } from './codes.ts'
import { delegateSection, loadCandidates } from './delegate-section.ts'
import { membershipsSection } from './memberships-section.ts'
import { passkeysSection } from './passkeys.ts'
import { profileSection } from './profile-section.ts'
import { loadPushDevices, pushSection } from './push-devices.ts'
import { loadSessions, sessionsSection } from './sessions-section.ts'

/** `/account`: what belongs to the person and to no account: factors, chat, sessions, the delegate. */
export async function accountPage({ user, accounts, done }: PageContext): Promise<PageView> {
  const [factors, chat, push, sessions, candidates] = await Promise.all([
    get('/me/factors', factorsShape),
    loadChat(),
    loadPushDevices(),
    loadSessions(),
    loadCandidates(),
  ])
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
    pushSection(push, done),
    sessionsSection(sessions, done),
    delegateSection(user, candidates, done),
    profileSection(user, done),
    membershipsSection(accounts, done),
  )
  return { title: 'Account', scene }
}
