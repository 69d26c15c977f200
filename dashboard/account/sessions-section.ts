import { okShape } from '../../webauthn-page/kit/api/contract.ts'
import { get, post } from '../../webauthn-page/kit/api/request.ts'
import { button } from '../../webauthn-page/kit/dom/button.ts'
import { el } from '../../webauthn-page/kit/dom/element.ts'
import { moment } from '../../webauthn-page/kit/dom/moment.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { type Section, section } from '../parts/section.ts'
import { browserName } from './browser-name.ts'
import { endedShape, type SessionEntry, sessionsShape } from './session-shapes.ts'

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
