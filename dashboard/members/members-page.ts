import { get, post } from '../../webauthn-page/kit/api/request.ts'
import { buttonRow, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { el, link } from '../../webauthn-page/kit/dom/element.ts'
import {
  EMAIL_LENGTH,
  type Field,
  field,
  form,
  NAME_LENGTH,
  wrong,
} from '../../webauthn-page/kit/dom/form.ts'
import { stepUp } from '../../webauthn-page/kit/passkey/step-up.ts'
import { callerName, callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { section } from '../parts/section.ts'
import { policyWarnings } from '../settings/policy-warnings.ts'
import { policyShape } from '../settings/settings-shapes.ts'
import type { Done, PageContext, PageView } from '../shell/page-entry.ts'
import { linkView, memberEntry, roleField } from './member-entry.ts'
import { type Member, membersShape, newMemberShape } from './member-shapes.ts'

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

/** Asks for whom to invite; shows the link that comes of it. */
function inviteSection(done: Done): HTMLElement {
  const part = section(
    'Invite somebody',
    'They get a link from you, with which they sign up or sign in, and accept.',
  )
  const email = field({
    label: 'E-mail address',
    name: 'email',
    attributes: { type: 'email', autocomplete: 'off', maxlength: EMAIL_LENGTH, required: true },
  })
  const name = field({
    label: 'Name (optional)',
    name: 'name',
    hint: 'How they are called here until they accept.',
    attributes: { autocomplete: 'off', maxlength: NAME_LENGTH },
  })
  const role = roleField('approver')
  const invite = async (): Promise<void> => {
    const address = readEmail(email)
    if (address === undefined) return
    const purpose = ['Confirm that you invite ', callerName(address), ` as an ${role.input.value}.`]
    const proof = await stepUp('member.invite', purpose, address)
    if (proof === undefined) return
    const called = name.input.value.trim()
    const body = { email: address, role: role.input.value, proof, ...(called === '' ? {} : { name: called }) }
    const { member, link } = await post('/account/members', body, newMemberShape)
    const shown = linkView(callerText(member.email), link, () => void done('The invitation is out.'))
    part.turnInto('Invitation', 'The membership begins when they accept.', shown)
  }
  part.body.append(
    form(
      { class: 'stacked', 'aria-label': 'Invite somebody' },
      () => part.slot.attempt(invite, { email, name }),
      email.row,
      name.row,
      role.row,
      buttonRow(submitButton('Invite')),
    ),
  )
  return part.element
}

/** The service judges addresses; here only plain slips are caught. */
function readEmail(email: Field): string | undefined {
  const address = email.input.value.trim()
  if (/^[^\s@]+@[^\s@]+$/.test(address)) return address
  return wrong(email, 'Enter the e-mail address of whom you invite.')
}
