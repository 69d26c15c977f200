import { type WaitingConsent, waitingConsentsShape } from '../../webauthn-page/kit/api/contract.ts'
import { get } from '../../webauthn-page/kit/api/request.ts'
import { wasSignedIn } from '../../webauthn-page/kit/api/signed-in-before.ts'
import { div, el } from '../../webauthn-page/kit/dom/element.ts'
import { keep, kept } from '../../webauthn-page/kit/dom/kept.ts'
import { keysShape } from '../keys/key-shapes.ts'
import { isOwned } from '../shell/account-view.ts'
import type { OpenPage, PageContext, PageView } from '../shell/page-entry.ts'
import type { Guide } from './first-run.ts'
import { firstPending, loadPending, type Pending } from './pending.ts'
import { comesBack } from './place.ts'
import { holdRows, inboxTitle } from './waiting-list.ts'
import { waitingSection } from './waiting-section.ts'

type Asked = [Pending, WaitingConsent[]]

/** Requests the waiting items at once, in parallel with the call that tells who is signed in. */
export function openInbox(): OpenPage {
  const load = comesBack() ? loadPending : firstPending
  const ask = (): Promise<Asked> => Promise.all([load(), loadConsents()])
  // Without a session the service would only refuse.
  const asked = wasSignedIn() ? ask() : undefined
  // A failure does not concern a person who is signed out or has left the page.
  asked?.catch(() => {})
  return (context) => inboxPage(context, asked ?? ask())
}

/** `/`: everything that waits for the person, whatever account it belongs to; for a new owner, how to begin. */
async function inboxPage(context: PageContext, asked: Promise<Asked>): Promise<PageView> {
  const { user, account, signal } = context
  // A person who came to decide for another's account has not come to set up their own.
  const owns = isOwned(account)
  const [[pending, consents], guide] = await Promise.all([asked, owns ? firstRun(user.id) : undefined])
  // What stands below the list loads late; the page is complete without it.
  const late = import('./next-steps.ts')
  const below = late.then((found) => new found.BelowInbox(context)).catch(() => undefined)
  const waiting = waitingSection(pending, {
    actor: user.approver,
    account: account.name,
    signal,
    auditor: account.role === 'auditor',
    // The guide must show the request of its step no later than the list does.
    fresh: () => guide?.look(),
    listed: (count) => void below.then((parts) => parts?.listed(count)),
  })
  const ask = async () => (await late).consentsSection(consents, { load: loadConsents, hold: holdRows })
  // None wait, nearly always: what shows one that comes later loads late, too.
  const asking = consents.length > 0 && (await ask())
  const scene = div(
    'inbox',
    el('h1', {}, 'Inbox'),
    // Sections with waiting items come first; empty ones go last, so that a late arrival moves nothing that may be pressed.
    asking,
    ...(pending.data.length > 0 ? [waiting, guide?.element] : [guide?.element, waiting]),
  )
  void below.then((parts) => parts?.fill(scene, guide?.decided))
  if (asking === false)
    void ask().then(
      (section) => scene.append(section),
      () => {},
    )
  return { title: inboxTitle(pending), scene, wide: true }
}

/** Reads the waiting requests for an API key of this account. @throws RequestFailure, ShapeError */
async function loadConsents(): Promise<WaitingConsent[]> {
  return (await get('/account/bootstrap', waitingConsentsShape)).data
}

/** Storage key of the guide's state: who has begun it, or needs it no more. Without storage it ends with the visit. */
const GUIDE = 'countersign.first-run'

/**
 * Returns the guide for an owner without any key, or for an owner who began it in this browser and has not finished it. It
 * follows the key that was made in it, by its id; for an owner who made a key elsewhere, the newest key. The raw key is on
 * the screen once; later a placeholder stands for it.
 * @throws RequestFailure, ShapeError
 */
async function firstRun(userId: string): Promise<Guide | undefined> {
  const remember = (state: string) => keep('localStorage', GUIDE, state)
  const [before, past] = [kept('localStorage', GUIDE), `past ${userId}`]
  if (before === past) return undefined
  const { data: keys } = await get('/account/api-keys', keysShape)
  const [begunBy, keyId] = before?.split(' ') ?? []
  if (keys.length > 0 && begunBy !== userId) {
    remember(past)
    return undefined
  }
  if (keys.length === 0) remember(userId)
  const { startGuide } = await import('./first-run.ts')
  const live = keys.filter(({ revoked_at }) => revoked_at === null)
  return startGuide(live.find(({ id }) => id === keyId) ?? live.at(-1), {
    follows: (id) => remember(`${userId} ${id}`),
    ended: () => remember(past),
  })
}
