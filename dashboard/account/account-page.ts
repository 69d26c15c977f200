import { visibleString } from '../../src/domain/text.ts'
import { factorsShape, okShape, type User } from '../../webauthn-page/kit/api/contract.ts'
import { get, patch, post } from '../../webauthn-page/kit/api/request.ts'
import { button, runOnce, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { el, facts } from '../../webauthn-page/kit/dom/element.ts'
import { field, NAME_LENGTH } from '../../webauthn-page/kit/dom/field.ts'
import { moment } from '../../webauthn-page/kit/dom/moment.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { askFirst } from '../parts/ask-first.ts'
import { choiceField } from '../parts/fields.ts'
import { type Section, section } from '../parts/section.ts'
import type { AccountView } from '../shell/account-view.ts'
import { roleName } from '../shell/account-view.ts'
import type { PageContext, PageView } from '../shell/page-entry.ts'
import { chatSection, loadChat } from './chat-section.ts'
import { delegateSection, loadCandidates } from './delegate-section.ts'
import { codesSection, passkeysSection } from './factors.ts'
import { loadPushDevices, pushSection } from './push.ts'
import { endedShape, type SessionEntry, sessionsShape } from './session-shapes.ts'

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

/** Accounts of others in which the person works; undefined when there are none. */
export function membershipsSection(
  accounts: readonly AccountView[],
  done: (message: string) => Promise<void>,
): HTMLElement | undefined {
  const joined = accounts.filter(({ own }) => !own)
  if (joined.length === 0) return undefined
  const part = section('Accounts of others', 'Their owners invited you. You can leave at any time.')
  part.body.append(el('ul', { class: 'entries' }, ...joined.map((account) => row(part, account, done))))
  return part.element
}

function row(
  part: Section,
  { id, name, role }: AccountView,
  done: (message: string) => Promise<void>,
): HTMLElement {
  const leave = async (): Promise<void> => {
    part.slot.clear()
    const sure = await askFirst(
      'Leave this account?',
      'Leave',
      callerText(name),
      ' names you in no new request. You can still decide open ones that name you. Only its owner can invite you again.',
    )
    if (!sure) return
    try {
      await post(`/me/memberships/${id}/leave`, {}, okShape)
      await done('You have left the account.')
    } catch (error) {
      part.slot.fail(error)
    }
  }
  return el(
    'li',
    { class: 'entry' },
    el(
      'div',
      {},
      el('p', { class: 'entry-name' }, callerText(name), el('span', { class: 'tag' }, roleName(role))),
    ),
    button('Leave', 'quiet', leave, { 'aria-label': `Leave the account ${visibleString(name)}` }),
  )
}

/** The service takes 60 seconds to 7 days. */
const TTLS = [
  ['300', '5 minutes'],
  ['900', '15 minutes'],
  ['1800', '30 minutes'],
  ['3600', '1 hour'],
  ['14400', '4 hours'],
  ['28800', '8 hours'],
  ['86400', '1 day'],
  ['259200', '3 days'],
  ['604800', '7 days'],
] as const

/** How a person is called, and how long requests of their account wait that name no time themselves. */
export function profileSection(
  { name, default_ttl_seconds }: User,
  done: (message: string) => Promise<void>,
): HTMLElement {
  const part = section(
    'Profile',
    'How others see you, and how long a request waits that does not say so itself.',
  )
  const called = field({
    label: 'Your name',
    name: 'name',
    attributes: { maxlength: NAME_LENGTH, autocomplete: 'name', required: true, value: name },
  })
  const wanted = String(default_ttl_seconds)
  const known = TTLS.some(([seconds]) => seconds === wanted)
  const ttl = choiceField({
    label: 'Requests wait for',
    name: 'default_ttl_seconds',
    choices: known ? TTLS : [[wanted, `${wanted} seconds`], ...TTLS],
    value: wanted,
  })
  const form = el(
    'form',
    { novalidate: true, class: 'stacked', 'aria-label': 'Profile' },
    called.row,
    ttl.row,
    el('div', { class: 'buttons' }, submitButton('Save the profile', 'plain')),
  )
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    part.slot.clear()
    const body = { name: called.input.value.trim(), default_ttl_seconds: Number(ttl.input.value) }
    if (body.name === '') {
      called.setError('Enter your name.')
      return called.input.focus()
    }
    void runOnce(form, async () => {
      try {
        await patch('/me', body, okShape)
        await done('Your profile is saved.')
      } catch (error) {
        part.slot.fail(error, { name: called })
      }
    })
  })
  part.body.append(form)
  return part.element
}

/** @throws RequestFailure, ShapeError */
export async function loadSessions(): Promise<SessionEntry[]> {
  return (await get('/me/sessions', sessionsShape)).data
}

/** Where the person is signed in. Ending a session needs no proof: it only takes a right away. */
export function sessionsSection(
  sessions: readonly SessionEntry[],
  done: (message: string) => Promise<void>,
): HTMLElement {
  const part = section(
    'Sessions',
    'Browsers in which you are signed in. If you do not know one, end it and look at your passkeys.',
  )
  part.body.append(el('ul', { class: 'entries' }, ...sessions.map((entry) => sessionRow(part, entry, done))))
  if (sessions.length > 1)
    part.body.append(
      button('End all others', 'plain', () =>
        attempt(part, async () => {
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
  done: (message: string) => Promise<void>,
): HTMLElement {
  const name = browserName(user_agent)
  const end = (): Promise<void> =>
    attempt(part, async () => {
      await post(`/me/sessions/${id}/end`, {}, okShape)
      await done('The session is ended.')
    })
  return el(
    'li',
    { class: 'entry' },
    el(
      'div',
      {},
      el(
        'p',
        { class: 'entry-name' },
        callerText(name),
        current && el('span', { class: 'tag live' }, 'This browser'),
      ),
      el('p', { class: 'hint' }, 'Signed in ', moment(created_at), ' · last used ', moment(last_seen_at)),
    ),
    !current && button('End', 'quiet', end, { 'aria-label': `End the session of ${name}` }),
  )
}

async function attempt(part: Section, work: () => Promise<void>): Promise<void> {
  part.slot.clear()
  try {
    await work()
  } catch (error) {
    part.slot.fail(error)
  }
}

/** Names that say more stand first: every browser also calls itself something older. */
const BROWSERS = [
  [/\bEdgA?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\bHeadlessChrome\/|\bChrome\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
] as const

const SYSTEMS = [
  [/\bAndroid\b/, 'Android'],
  [/\b(iPhone|iPad)\b/, 'iOS'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
] as const

const LONGEST = 60

/** What people call a browser, from what it says of itself; anything unknown as it is, cut. It proves nothing. */
export function browserName(userAgent: string): string {
  const browser = BROWSERS.find(([pattern]) => pattern.test(userAgent))?.[1]
  const system = SYSTEMS.find(([pattern]) => pattern.test(userAgent))?.[1]
  if (browser !== undefined) return system === undefined ? browser : `${browser} on ${system}`
  if (userAgent === '') return 'A program that does not say its name'
  return userAgent.length > LONGEST ? `${userAgent.slice(0, LONGEST)}…` : userAgent
}
