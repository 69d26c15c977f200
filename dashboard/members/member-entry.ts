import { visibleString } from '../../src/domain/text.ts'
import { okShape } from '../../webauthn-page/kit/api/contract.ts'
import { patch, post } from '../../webauthn-page/kit/api/request.ts'
import { button, buttonRow, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { type Attributes, type Child, el, hint, p } from '../../webauthn-page/kit/dom/element.ts'
import { form } from '../../webauthn-page/kit/dom/form.ts'
import { day, moment } from '../../webauthn-page/kit/dom/moment.ts'
import { stepUp } from '../../webauthn-page/kit/passkey/step-up.ts'
import { callerName, callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { nameWarnings } from '../../webauthn-page/kit/show/chat.ts'
import { type ChoiceField, choiceField } from '../parts/fields.ts'
import { entry, type RowPanel, rowPanel, tag } from '../parts/rows.ts'
import { secretBox } from '../parts/secret-box.ts'
import { ROLES, roleName } from '../shell/account-view.ts'
import type { Done } from '../shell/page-entry.ts'
import { type InvitationLink, type Member, newLinkShape } from './member-shapes.ts'

/** A request keeps the approvers it was made with (T79): an owner who takes a right away must know what stays. */
const OPEN_REQUESTS =
  'Open requests that name them stay as they are: they can still decide them until they end. Whoever asked can withdraw those that must not wait.'

/** One person of the account, and what the owner can do about them. */
export function memberEntry(member: Member, done: Done): HTMLElement {
  const name = [
    callerText(member.name),
    tag(roleName(member.role)),
    member.state === 'invited' && tag('Invited', 'warn'),
  ]
  const about = [
    ...nameWarnings(member.name),
    hint(callerText(member.email), ...times(member)),
    member.approver !== null && hint('Reference ', el('span', { class: 'mono' }, member.approver)),
    lacksFactor(member) &&
      el('p', { class: 'field-error' }, 'Has no passkey and no codes, and cannot decide.'),
  ]
  if (member.role === 'owner') return entry(name, about)
  const panel = rowPanel()
  const named = (verb: string): Attributes => ({ 'aria-label': `${verb}: ${visibleString(member.name)}` })
  return entry(
    name,
    about,
    el(
      'div',
      { class: 'entry-buttons' },
      member.state === 'invited' && panel.opener('New link', named('New link'), () => newLink(member, panel)),
      panel.opener('Change role', named('Change role'), () => panel.show(roleForm(member, panel, done))),
      panel.opener('Remove', named('Remove'), () => remove(member, done)),
    ),
    panel.element,
  )
}

function times({ invited_at, joined_at }: Member): Child[] {
  if (joined_at !== null) return [' · joined ', day(joined_at)]
  return invited_at === null ? [] : [' · invited ', day(invited_at)]
}

function lacksFactor({ role, state, has_passkey, has_totp }: Member): boolean {
  return role !== 'auditor' && state === 'active' && !has_passkey && !has_totp
}

async function newLink(member: Member, panel: RowPanel): Promise<void> {
  const purpose = el(
    'span',
    {},
    'Confirm that you make a new invitation link for ',
    callerName(member.email),
    ` as an ${member.role}. The one before stops working.`,
  )
  const proof = await stepUp('member.invite', purpose, member.user_id)
  if (proof === undefined) return
  const { link } = await post(`/account/members/${member.user_id}/link`, { proof }, newLinkShape)
  panel.show(linkView(callerText(member.email), link, panel.close))
}

function roleForm(member: Member, panel: RowPanel, done: Done): HTMLElement {
  const role = roleField(member.role)
  const save = async (): Promise<void> => {
    if (role.input.value === member.role) return panel.close()
    const proof = await stepUp('member.change', roleChange(member, role.input.value), member.user_id)
    if (proof === undefined) return
    await patch(`/account/members/${member.user_id}`, { role: role.input.value, proof }, okShape)
    await done('The role is changed.')
  }
  return form(
    { class: 'panel-form', 'aria-label': 'Change the role' },
    () => panel.slot.attempt(save),
    role.row,
    openRequests(member) && hint(openRequests(member)),
    buttonRow(submitButton('Save'), button('Cancel', 'plain', panel.close)),
  )
}

/** Requests do not name a person who has not joined yet. */
function openRequests({ role, state }: Member): string {
  if (state === 'invited') return ''
  return role === 'approver' ? OPEN_REQUESTS : 'Open requests keep the approvers they were made with.'
}

/** The new role of whom, and what it does not change. */
function roleChange(member: Member, wanted: string): HTMLElement {
  const { name, role } = member
  return el(
    'span',
    {},
    'Confirm that ',
    callerName(name),
    ` becomes an ${wanted} and is no longer an ${role}.`,
    ' ',
    openRequests(member),
  )
}

async function remove(member: Member, done: Done): Promise<void> {
  const invited = member.state === 'invited'
  const purpose = el(
    'span',
    {},
    invited ? 'Confirm that you take the invitation of ' : 'Confirm that ',
    callerName(member.name),
    invited ? ' back.' : ` shall leave the account. New requests will not name them. ${OPEN_REQUESTS}`,
  )
  const proof = await stepUp('member.change', purpose, member.user_id)
  if (proof === undefined) return
  await post(`/account/members/${member.user_id}/remove`, { proof }, okShape)
  await done(invited ? 'The invitation is taken back.' : 'The member is removed.')
}

/** The link, which is shown this once: the service sends no e-mail, so its owner hands it over. */
export function linkView(who: Child, { url, expires_at }: InvitationLink, close: () => void): HTMLElement {
  return el(
    'div',
    { class: 'panel-form' },
    el('h3', {}, 'Hand this link to ', who),
    p(
      'It is shown only now, and works once, until ',
      moment(expires_at),
      '. Give it to them alone, by a way you trust. If they are new here, whoever opens it first signs up in their place; if they have signed up before, they sign in to accept.',
    ),
    secretBox(url, 'the invitation link'),
    buttonRow(button('I have handed it over', 'plain', close)),
  )
}

/** Which role a person gets, and what it allows. */
export function roleField(value: string): ChoiceField {
  const role = choiceField({
    label: 'Role',
    name: 'role',
    choices: ROLES.map(([one, label]) => [one, label] as const),
    value,
  })
  const meaning = el('p', { class: 'hint', role: 'status' })
  const follow = (): void => {
    meaning.textContent = ROLES.find(([one]) => one === role.input.value)?.[2] ?? ''
  }
  role.input.addEventListener('change', follow)
  role.input.after(meaning)
  follow()
  return role
}
