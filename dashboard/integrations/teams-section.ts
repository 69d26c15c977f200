import type { ChatIdentity } from '../../webauthn-page/kit/api/contract.ts'
import { el } from '../../webauthn-page/kit/dom/element.ts'
import { section } from '../parts/section.ts'
import type { PageContext } from '../shell/page-entry.ts'
import type { ChatApps } from './chat-shapes.ts'
import { linkedPerson } from './linked-person.ts'
import { notSetUp } from './not-set-up.ts'

/** Is Microsoft Teams set up, for which organisation, and what to do next. */
export function teamsSection(
  { configured, tenants }: ChatApps['teams'],
  identities: readonly ChatIdentity[],
  context: PageContext,
): HTMLElement {
  const part = section(
    'Microsoft Teams',
    'Approvers get a card for every request. Nothing can be approved in Teams.',
  )
  if (!configured) {
    part.body.append(notSetUp('Microsoft Teams', 'Cards in Microsoft Teams', 'docs/teams.md'))
    return part.element
  }
  part.body.append(
    el('p', {}, 'Cards go to the organisation ', ...tenants.map((tenant) => el('code', {}, tenant)), '.'),
    el(
      'p',
      { class: 'hint' },
      'Whoever runs this service has connected this one organisation, for all accounts; it cannot be changed here. Each approver adds the Countersign app in Teams once and writes to it, so that it may write to them.',
    ),
    linkedPerson('teams', identities, context),
  )
  return part.element
}
