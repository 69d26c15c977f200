import { given } from '../../src/domain/given.ts'
import { requirementFor } from '../../src/domain/policy.ts'
import { visibleString } from '../../src/domain/text.ts'
import { okShape } from '../../webauthn-page/kit/api/contract.ts'
import { get, patch, post } from '../../webauthn-page/kit/api/request.ts'
import { button, buttonRow, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import {
  type Attributes,
  type Child,
  div,
  el,
  hint,
  link,
  mono,
  note,
  p,
} from '../../webauthn-page/kit/dom/element.ts'
import { emailField, form, nameField, readEmail } from '../../webauthn-page/kit/dom/form.ts'
import { day, moment } from '../../webauthn-page/kit/dom/moment.ts'
import { notice } from '../../webauthn-page/kit/dom/notice.ts'
import { confirmed, type Proof } from '../../webauthn-page/kit/passkey/step-up.ts'
import { callerName, callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { nameWarnings } from '../../webauthn-page/kit/show/chat.ts'
import { authenticatorWords } from '../parts/authenticator-words.ts'
import { type ChoiceField, choiceField } from '../parts/fields.ts'
import { ENDS, entry, type RowPanel, rowPanel, tag } from '../parts/rows.ts'
import { secretBox } from '../parts/secret-box.ts'
import { section } from '../parts/section.ts'
import { showPendingRequests } from '../requests/withdraw.ts'
import { policyWarnings } from '../settings/policy-warnings.ts'
import { type Policy, policyShape } from '../settings/settings-shapes.ts'
import { ROLES, roleName } from '../shell/account-view.ts'
import type { PageContext, PageView } from '../shell/page-entry.ts'
import {
  type InvitationLink,
  type Member,
  membersShape,
  newLinkShape,
  newMemberShape,
  type RecoveryLink,
  recoveryShape,
} from './member-shapes.ts'

/** `/members`: the people of the account, and invitations. For its owner. */
export async function membersPage(context: PageContext): Promise<PageView> {
  const { href } = context
  const [{ data }, policy] = await Promise.all([
    get('/account/members', membersShape),
    get('/account/policy', policyShape),
  ])
  const people = section(
    'Members of this account',
    'The policy decides who is an approver of requests; the role alone does not.',
  )
  people.body.append(
    ...policyWarnings(policy),
    el('ul', { class: 'entries' }, ...data.map((member) => memberEntry(member, policy, context))),
    note(whoDecides(data), ' ', link(href('/settings'), 'Open the policy'), '.'),
  )
  const scene = div('account', el('h1', {}, 'Members'), people.element, inviteSection(context))
  return { title: 'Members', scene, wide: true }
}

function whoDecides(members: readonly Member[]): string {
  const able = members.filter(({ role, state }) => role !== 'auditor' && state === 'active').length
  if (able === 1) return 'Only you can be named as an approver.'
  return `${able} people can be named as approvers.`
}

/** The form for inviting a person; it turns into the invitation link. */
function inviteSection({ account, done }: PageContext): HTMLElement {
  const part = section(
    'Invite a person',
    'They get a link from you, with which they sign up or sign in, and accept.',
  )
  const email = emailField('E-mail address', 'off')
  const name = nameField('Name (optional)', 'The name shown here until they change it.')
  const role = roleField('approver')
  const invite = async (): Promise<void> => {
    const address = readEmail(email, 'Enter the e-mail address of the person you invite.')
    if (address === undefined) return
    const purpose = ['Confirm that you invite ', callerName(address), ` as an ${role.input.value}.`]
    const called = name.input.value.trim()
    const body = { email: address, role: role.input.value, ...(called === '' ? {} : { name: called }) }
    const send = (proof?: Proof) => post('/account/members', { ...body, proof }, newMemberShape)
    const made = await confirmed(purpose, send, 'member.invite', address)
    if (made === undefined) return
    const { member, link } = made
    const shown = linkView(callerText(member.email), link, () => void done('The invitation is out.'))
    part.turnInto('Invitation', 'The membership begins when they accept.', shown)
  }
  part.body.append(
    form(
      { class: 'stacked', 'aria-label': 'Invite a person' },
      () => part.slot.attempt(invite, { email, name }),
      email.row,
      name.row,
      role.row,
      hint('They are invited to ', callerName(account.name), '. ', link('/settings', 'Rename the account')),
      buttonRow(submitButton('Invite')),
    ),
  )
  return part.element
}

/** A request keeps the approvers it was made with (T79): an owner who takes a right away must know what remains. */
const OPEN_REQUESTS =
  'Pending requests that name them stay as they are: they can still decide them until they expire. Withdraw under Requests those that must not stay pending.'

/** One person of the account, and the owner's actions on them. */
function memberEntry(member: Member, policy: Policy, context: PageContext): HTMLElement {
  const reader = context.user.id
  const name = [
    callerText(member.name),
    tag(roleName(member.role)),
    member.state === 'invited' && tag('Invited', 'warn'),
    isUnnamed(member, policy) && tag('Not named in the policy', 'warn'),
  ]
  const about = [
    ...nameWarnings(member.name),
    hint(callerText(member.email), ...times(member)),
    member.approver !== null && hint('Reference ', mono(member.approver)),
    ...(member.passkeys ?? []).map((made) => hint('Passkey: ', authenticatorWords(made))),
    member.has_totp && hint('Codes from an authenticator app', !member.has_passkey && '; no passkey'),
    lacksFactor(member) && lacking(member, reader),
    ...recoveryWords(member),
  ]
  if (member.role === 'owner') return entry(name, about)
  const panel = rowPanel()
  const named = (verb: string): Attributes => ({ 'aria-label': `${verb}: ${visibleString(member.name)}` })
  return entry(
    name,
    about,
    div(
      'entry-buttons',
      member.state === 'invited' && panel.opener('New link', named('New link'), () => newLink(member, panel)),
      panel.opener('Change role', named('Change role'), () =>
        panel.show(roleForm(member, policy, panel, context)),
      ),
      ...recoveryButtons(member, panel, named, context),
      panel.opener('Remove', { ...named('Remove'), class: ENDS }, () => remove(member, policy, context)),
    ),
    panel.element,
  )
}

function lacking({ user_id }: Member, reader: string): HTMLElement {
  const own = user_id === reader
  const sentence = `No passkey or code of ${own ? 'yours' : 'theirs'} works, so ${own ? 'you' : 'they'} cannot decide. `
  const helps = own
    ? link('/account', 'See how to fix this')
    : 'Offer them a new set-up with “Lost a device”, or ask the operator of the service for a new sign-in link.'
  return el('p', { class: 'field-error' }, sentence, helps)
}

function times({ invited_at, joined_at }: Member): Child[] {
  if (joined_at !== null) return [' · joined ', day(joined_at)]
  return invited_at === null ? [] : [' · invited ', day(invited_at)]
}

/** Checks for an approver who joined, but who is asked nothing in their own name until the policy names them. */
function isUnnamed({ user_id, role, state }: Member, { approvers }: Policy): boolean {
  return role === 'approver' && state === 'active' && approvers.every((one) => one.user_id !== user_id)
}

function lacksFactor({ role, state, has_passkey, has_totp }: Member): boolean {
  return role !== 'auditor' && state === 'active' && !has_passkey && !has_totp
}

/** Says that the person may set up their sign-in anew, or that they said no. */
function recoveryWords({ recovery }: Member): HTMLElement[] {
  if (recovery === undefined) return []
  const { opens_at, expires_at, refused } = recovery
  if (refused)
    return [
      hint('Refused to set up their sign-in anew; you can offer it again after ', moment(expires_at), '.'),
    ]
  return [hint('May set up their sign-in anew from ', moment(opens_at), ' until ', moment(expires_at), '.')]
}

function recoveryButtons(
  member: Member,
  panel: RowPanel,
  named: (verb: string) => Attributes,
  context: PageContext,
): Child[] {
  const { state, recovery } = member
  if (state === 'invited' || recovery?.refused) return []
  const cancel = async (): Promise<void> => {
    await post(`/account/members/${member.user_id}/recovery/cancel`, {}, okShape)
    await context.done('The new set-up is cancelled.')
  }
  const label = recovery === undefined ? 'Lost a device' : 'Another link'
  return [
    panel.opener(label, named(label), () => offerRecovery(member, panel, context)),
    recovery !== undefined && panel.opener('Cancel the set-up', named('Cancel the set-up'), cancel),
  ]
}

async function offerRecovery(member: Member, panel: RowPanel, { done }: PageContext): Promise<void> {
  const purpose = [
    'Confirm that ',
    callerName(member.name),
    ' lost a device and may set up their sign-in anew. They are told at once and can refuse. A day later your link works: with it, all their passkeys, codes and sessions end.',
  ]
  const send = (proof?: Proof) =>
    post(`/account/members/${member.user_id}/recovery`, { proof }, recoveryShape)
  const made = await confirmed(purpose, send, 'member.recover', member.user_id)
  if (made !== undefined)
    panel.show(
      recoveryLinkView(member, made.link, () => void done()),
      'once',
    )
}

/** The link, shown only once. */
function recoveryLinkView(
  { email }: Member,
  { url, opens_at, expires_at }: RecoveryLink,
  close: () => void,
): HTMLElement {
  return div(
    'panel-form',
    el('h3', {}, 'Hand this link to ', callerText(email)),
    p(
      'It is shown only now, and works once, from ',
      moment(opens_at),
      ' until ',
      moment(expires_at),
      '. Whoever opens it then decides in their name: be sure that it was they who asked you, and give it to them alone.',
    ),
    localOnly(url),
    secretBox(url, 'the link'),
    buttonRow(button('I have handed it over', 'plain', close)),
  )
}

async function newLink(member: Member, panel: RowPanel): Promise<void> {
  const purpose = [
    'Confirm that you make a new invitation link for ',
    callerName(member.email),
    ` as an ${member.role}. The one before stops working.`,
  ]
  const path = `/account/members/${member.user_id}/link`
  const send = (proof?: Proof) => post(path, { proof }, newLinkShape)
  const made = await confirmed(purpose, send, 'member.invite', member.user_id)
  if (made !== undefined) panel.show(linkView(callerText(member.email), made.link, panel.close), 'once')
}

function roleForm(member: Member, policy: Policy, panel: RowPanel, context: PageContext): HTMLElement {
  const role = roleField(member.role)
  const keeps = `${openRequests(member)}${neededBy(policy, member)}`
  const save = async (): Promise<void> => {
    if (role.input.value === member.role) return panel.close()
    const wanted = role.input.value
    const send = (proof?: Proof) =>
      patch(`/account/members/${member.user_id}`, { role: wanted, proof }, okShape)
    const purpose = roleChange(member, wanted, keeps)
    if ((await confirmed(purpose, send, 'member.change', member.user_id)) === undefined) return
    if (wanted === 'approver') return context.done('The role is changed.')
    await showPendingRequests(context, ['person', member.user_id], 'The role is changed.')
  }
  return form(
    { class: 'panel-form', 'aria-label': 'Change the role' },
    () => panel.slot.attempt(save),
    role.row,
    keeps && hint(keeps),
    buttonRow(submitButton('Save'), button('Cancel', 'plain', panel.close)),
  )
}

/** The sentence about open requests; empty for a person who has not joined yet, since no request names them. */
function openRequests({ role, state }: Member): string {
  if (state === 'invited') return ''
  return role === 'approver' ? OPEN_REQUESTS : 'Pending requests keep the approvers they were made with.'
}

/** The sentence that confirms a member's new role, and what it does not change. */
function roleChange({ name, role }: Member, wanted: string, keeps: string): Child[] {
  return ['Confirm that ', callerName(name), ` becomes an ${wanted} and is no longer an ${role}. ${keeps}`]
}

/** The warning that without this approver the policy stops every request; empty where it does not. */
function neededBy(policy: Policy, { user_id }: Member): string {
  const named = policy.approvers.filter(({ eligible }) => eligible)
  const others = named.filter((one) => one.user_id !== user_id)
  const { authenticators, ...rules } = policy
  const isNamed = policy.reachable && others.length < named.length
  return isNamed &&
    requirementFor({ ...rules, ...given({ authenticators }), approvers: [] }, others) === undefined
    ? ' The policy then needs more approvers than there are: new requests are refused until you change it.'
    : ''
}

async function remove(member: Member, policy: Policy, context: PageContext): Promise<void> {
  const invited = member.state === 'invited'
  const purpose = [
    invited ? 'Confirm that you withdraw the invitation of ' : 'Confirm that ',
    callerName(member.name),
    invited
      ? '.'
      : ` will be removed from the account. New requests will not name them. ${OPEN_REQUESTS}${neededBy(policy, member)}`,
  ]
  const send = (proof?: Proof) => post(`/account/members/${member.user_id}/remove`, { proof }, okShape)
  if ((await confirmed(purpose, send, 'member.change', member.user_id)) === undefined) return
  if (invited) return context.done('The invitation is withdrawn.')
  await showPendingRequests(context, ['person', member.user_id], 'The member is removed.')
}

/** The invitation link, shown only once: the service sends no e-mail, so the account's owner hands it over. */
function linkView(who: Child, { url, expires_at }: InvitationLink, close: () => void): HTMLElement {
  return div(
    'panel-form',
    el('h3', {}, 'Hand this link to ', who),
    p(
      'It is shown only now, and works once, until ',
      moment(expires_at),
      '. Give it to them alone, in a way you trust. If they are new here, the first person to open it signs up in their place; if they have signed up before, they sign in to accept.',
    ),
    localOnly(url),
    secretBox(url, 'the invitation link'),
    buttonRow(button('I have handed it over', 'plain', close)),
  )
}

/** Warns of a link that leads nowhere on the device of the other person. */
function localOnly(url: string): HTMLElement | undefined {
  if (new URL(url).hostname !== 'localhost') return undefined
  return notice(
    'warning',
    'this link works only on this machine: the service is at localhost. For other people the operator sets BASE_URL to an address that they can reach.',
  )
}

/** The choice of a person's role, with what it allows. */
function roleField(value: string): ChoiceField {
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
