import { get } from '../../webauthn-page/kit/api/request.ts'
import { el, link } from '../../webauthn-page/kit/dom/element.ts'
import { section } from '../parts/section.ts'
import { policyWarnings } from '../settings/policy-warnings.ts'
import { policyShape } from '../settings/settings-shapes.ts'
import type { PageContext, PageView } from '../shell/page-entry.ts'
import { inviteSection } from './invite-form.ts'
import { memberEntry } from './member-entry.ts'
import { type Member, membersShape } from './member-shapes.ts'

/** `/members`: who works in the account, and invitations. For its owner. */
export async function membersPage({ done, href }: PageContext): Promise<PageView> {
  const [{ data }, policy] = await Promise.all([
    get('/account/members', membersShape),
    get('/account/policy', policyShape),
  ])
  const people = section('People', 'Who decides is set by the policy; being an approver alone names nobody.')
  people.body.append(
    ...policyWarnings(policy),
    el('ul', { class: 'entries' }, ...data.map((member) => memberEntry(member, done))),
    el('p', { class: 'note' }, whoDecides(data), ' ', link(href('/settings'), 'Open the policy'), '.'),
  )
  const scene = el('div', { class: 'account' }, el('h1', {}, 'Members'), people.element, inviteSection(done))
  return { title: 'Members', scene }
}

function whoDecides(members: readonly Member[]): string {
  const able = members.filter(({ role, state }) => role !== 'auditor' && state === 'active').length
  if (able === 1) return 'Only you can be named as an approver.'
  return `${able} people can be named as approvers.`
}
