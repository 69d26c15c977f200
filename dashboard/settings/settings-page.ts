import { get } from '../../webauthn-page/kit/api/request.ts'
import { el } from '../../webauthn-page/kit/dom/element.ts'
import { membersShape } from '../members/member-shapes.ts'
import type { PageContext, PageView } from '../shell/page-entry.ts'
import { nameSection } from './name-section.ts'
import { policySection } from './policy-section.ts'
import { quotaSection } from './quota-section.ts'
import { accountShape, policyShape } from './settings-shapes.ts'

/** `/settings`: the rules of the account, its quota and its name. For its owner. */
export async function settingsPage({ done }: PageContext): Promise<PageView> {
  const [account, policy, { data: members }] = await Promise.all([
    get('/account', accountShape),
    get('/account/policy', policyShape),
    get('/account/members', membersShape),
  ])
  const scene = el(
    'div',
    { class: 'account' },
    el('h1', {}, 'Settings'),
    policySection(policy, members, done),
    quotaSection(account),
    nameSection(account, done),
  )
  return { title: 'Settings', scene }
}
