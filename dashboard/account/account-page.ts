import { visibleString } from '../../src/domain/text.ts'
import type { accountAnswer } from '../../src/http/api/account.ts'
import type { Answer } from '../../src/http/api/shared/fields.ts'
import {
  type ChatIdentity,
  factorsShape,
  identitiesShape,
  okShape,
  type Platform,
  type User,
} from '../../webauthn-page/kit/api/contract.ts'
import { get, patch, post } from '../../webauthn-page/kit/api/request.ts'
import { answer } from '../../webauthn-page/kit/api/shape.ts'
import { browserName } from '../../webauthn-page/kit/device-name.ts'
import { button, buttonRow, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { askFirst } from '../../webauthn-page/kit/dom/dialog.ts'
import { div, el, facts, hint, kind, mono, p } from '../../webauthn-page/kit/dom/element.ts'
import { filled, form, nameField } from '../../webauthn-page/kit/dom/form.ts'
import { ago, day, exactly } from '../../webauthn-page/kit/dom/moment.ts'
import { lostFactors } from '../../webauthn-page/kit/passkey/no-factor.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { chatName, nameWarnings, typedAnywhere, wordsOf } from '../../webauthn-page/kit/show/chat.ts'
import { platformsOf } from '../integrations/chat-sections.ts'
import { chatAppsShape } from '../integrations/integration-shapes.ts'
import { chatEntry, entry, tag } from '../parts/rows.ts'
import { orFailure, type Section, section, showFailure } from '../parts/section.ts'
import { type AccountView, roleName } from '../shell/account-view.ts'
import type { Done, PageContext, PageView } from '../shell/page-entry.ts'
import { candidatesShape, codesSection, delegateSection, passkeysSection } from './factors.ts'
import { hearingSection, loadHearing, mailSection } from './hearing.ts'
import { loadPushDevices, pushSection } from './push.ts'
import { endedShape, type SessionEntry, sessionsShape } from './session-shapes.ts'
import { themeSection, timesSection } from './times.ts'

const madeShape = answer<Pick<Answer<typeof accountAnswer>, 'id'>>()

/** `/account`: the things that belong to the person, not to an account: factors, chat, sessions, the delegate. */
export async function accountPage({ user, accounts, done, go }: PageContext): Promise<PageView> {
  const [factors, chat, push, hearing, { data: sessions }, { data: candidates }] = await Promise.all([
    get('/me/factors', factorsShape),
    loadChat(),
    loadPushDevices(),
    loadHearing(),
    get('/me/sessions', sessionsShape),
    get('/me/delegate/candidates', candidatesShape),
  ])
  const scene = div(
    'account',
    el('h1', {}, 'Your account'),
    lostFactors(factors),
    facts(
      ['Name', callerText(user.name)],
      ['E-mail', callerText(user.email)],
      ['Approver reference', mono(user.approver), kind(' stands for you in receipts')],
    ),
    passkeysSection(factors, done),
    codesSection(factors, done),
    chatSection(chat, done),
    pushSection(push, done),
    mailSection(hearing, user, done),
    hearingSection(hearing, done),
    sessionsSection(sessions, done),
    delegateSection(user, candidates, done),
    profileSection(user, done),
    timesSection(),
    themeSection(),
    membershipsSection(accounts, done),
    user.account_id === undefined && ownAccountSection(user, go),
  )
  return { title: 'Account', scene, wide: true }
}

/** The accounts of other people in which this person is a member; undefined when there are none. */
function membershipsSection(accounts: readonly AccountView[], done: Done): HTMLElement | undefined {
  const joined = accounts.filter(({ own }) => !own)
  if (joined.length === 0) return undefined
  const part = section('Accounts of others', 'Their owners invited you. You can leave at any time.')
  part.body.append(el('ul', { class: 'entries' }, ...joined.map((account) => row(part, account, done))))
  return part.element
}

/** Lets an invited person make the account that they do not have. */
function ownAccountSection({ name }: User, go: PageContext['go']): HTMLElement {
  const part = section(
    'An account of your own',
    'With API keys, a policy and members of its own. You need none to decide in the accounts of others.',
  )
  const called = nameField('Name of the account', 'Such as your organisation.', {
    name: 'account_name',
    autocomplete: 'organization',
    required: true,
    value: name,
  })
  const create = async (): Promise<void> => {
    const said = filled(called, 'Give the account a name.')
    if (said === undefined) return
    const { id } = await post('/account', { name: said }, madeShape)
    await go(`/?account=${encodeURIComponent(id)}`, 'Your account is made.')
  }
  part.body.append(
    form(
      { class: 'stacked', 'aria-label': 'An account of your own' },
      () => part.slot.attempt(create, { name: called }),
      called.row,
      buttonRow(submitButton('Create an account of my own')),
    ),
  )
  return part.element
}

function row(part: Section, { id, name, role }: AccountView, done: Done): HTMLElement {
  const leave = async (): Promise<void> => {
    const sure = await askFirst(
      'Leave this account?',
      'Leave',
      callerText(name),
      ' will not name you in new requests. You can still decide pending ones that name you. Only its owner can invite you again. If its policy then needs more approvers than there are, new requests are refused until the owner changes it.',
    )
    if (!sure) return
    await post(`/me/memberships/${id}/leave`, {}, okShape)
    await done('You have left the account.')
  }
  return entry(
    [callerText(name), tag(roleName(role))],
    [],
    button('Leave', 'quiet', () => part.slot.attempt(leave), {
      'aria-label': `Leave the account ${visibleString(name)}`,
    }),
  )
}

/** The person's name. */
function profileSection({ name }: User, done: Done): HTMLElement {
  const part = section('Profile', 'How others see you.')
  const called = nameField('Your name', undefined, { autocomplete: 'name', required: true, value: name })
  const save = async (): Promise<void> => {
    const said = filled(called, 'Enter your name.')
    if (said === undefined) return
    await patch('/me', { name: said }, okShape)
    await done('Your profile is saved.')
  }
  part.body.append(
    form(
      { class: 'stacked', 'aria-label': 'Profile' },
      () => part.slot.attempt(save, { name: called }),
      called.row,
      buttonRow(submitButton('Save the profile')),
    ),
  )
  return part.element
}

/** The person's sessions. Ending one needs no proof of presence: it only takes a right away. */
function sessionsSection(sessions: readonly SessionEntry[], done: Done): HTMLElement {
  const part = section(
    'Sessions',
    'Browsers in which you are signed in. If you do not recognise one, end its session and check your passkeys.',
  )
  part.body.append(el('ul', { class: 'entries' }, ...sessions.map((entry) => sessionRow(part, entry, done))))
  if (sessions.length > 1)
    part.body.append(
      button('End all others', 'plain', () =>
        part.slot.attempt(async () => {
          const { ended } = await post('/me/sessions/end-others', {}, endedShape)
          await done(ended === 1 ? 'One other session is ended.' : `${ended} other sessions are ended.`)
        }),
      ),
    )
  return part.element
}

function sessionRow(
  part: Section,
  { id, current, created_at, last_seen_at, user_agent }: SessionEntry,
  done: Done,
): HTMLElement {
  const name = browserName(user_agent)
  const end = (): Promise<void> =>
    part.slot.attempt(async () => {
      await post(`/me/sessions/${id}/end`, {}, okShape)
      await done('The session is ended.')
    })
  return entry(
    [callerText(name), current && tag('This browser', 'live')],
    [hint('Signed in ', ago(created_at), ' · last used ', ago(last_seen_at))],
    !current &&
      button('End', 'quiet', end, {
        'aria-label': `End the session of ${visibleString(name)}, signed in ${exactly(created_at)}`,
      }),
  )
}

/** @throws RequestFailure 401 */
function loadChat() {
  const both = Promise.all([get('/me/chat', identitiesShape), get('/account/chat-apps', chatAppsShape)])
  return orFailure(both.then(([{ identities }, apps]) => ({ identities, platforms: platformsOf(apps) })))
}

function chatSection(chat: Awaited<ReturnType<typeof loadChat>>, done: Done): HTMLElement {
  const part = section('Chat', 'Your chat accounts that receive requests. Nothing can be approved in chat.')
  if ('failure' in chat) return showFailure(part, chat.failure, () => done())
  const { identities, platforms } = chat
  part.body.append(
    identities.length > 0
      ? el('ul', { class: 'entries' }, ...identities.map((identity) => identityRow(part, identity, done)))
      : howToLink(platforms),
    identities.length > 0
      ? buttonRow(
          button('Send a test', 'plain', () => testChat(part), { 'aria-label': 'Send a test in chat' }),
        )
      : '',
  )
  return part.element
}

function testChat(part: Section): Promise<void> {
  return part.slot.attempt(async () => {
    await post('/me/chat/test', {}, okShape)
    part.slot.show('success', 'A test is on its way to your chat accounts.')
  })
}

function howToLink(platforms: readonly Platform[]): HTMLElement {
  if (platforms.length === 0)
    return p('Neither Slack nor Microsoft Teams is set up on this service, so there is nothing to link.')
  return p(
    'No chat account is linked. To link yours, type ',
    ...typedAnywhere('link', platforms),
    ', and open the link you get in this browser.',
  )
}

function identityRow(part: Section, identity: ChatIdentity, done: Done): HTMLElement {
  const { platform, tenant, key } = identity
  // If the platform did not answer, the name is missing: the key still tells two chat accounts apart.
  const person = identity.person ?? key
  const workspace = identity.workspace ?? tenant
  const unlink = async (): Promise<void> => {
    const sure = await askFirst(
      'Unlink this chat account?',
      'Unlink',
      chatName(person),
      ' will no longer get your requests. You can link it again.',
    )
    if (!sure) return
    await post('/me/chat/remove', { key }, okShape)
    await done('The chat account is unlinked.')
  }
  return chatEntry(
    [chatName(person)],
    [
      hint(`${wordsOf(platform).workspace} `, chatName(workspace), ' · linked ', day(identity.linked_at)),
      ...nameWarnings(person, workspace),
    ],
    button('Unlink', 'quiet', () => part.slot.attempt(unlink), {
      'aria-label': `Unlink ${visibleString(person)}`,
    }),
  )
}
