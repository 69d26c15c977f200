import type { User } from '../kit/api/contract.ts'
import { RequestFailure } from '../kit/api/request.ts'
import { endSession } from '../kit/api/signed-in-before.ts'
import { button, buttonRow } from '../kit/dom/button.ts'
import { type Child, el, lede, link, p } from '../kit/dom/element.ts'
import { notice, sentenceOf } from '../kit/dom/notice.ts'
import { plainScene, showPlain, showScene } from '../kit/dom/stage.ts'
import { MismatchError } from '../kit/request/checked-review.ts'
import { keepFilters } from '../kit/request/inbox-filter.ts'
import { signInPanel } from '../sign-in/sign-in.ts'

/**
 * Shows why the page of a request stopped. `invite` asks for sign-in, `again` loads the request once more; `known` is a
 * message that stays true although loading failed.
 */
export function showStopped(
  error: unknown,
  invite: () => void,
  again: () => Promise<void>,
  known?: Child,
): void {
  const status = error instanceof RequestFailure ? error.status : undefined
  if (error instanceof MismatchError) showMismatch(error)
  else if (status === 401) invite()
  else if (status === 404) showNotFound()
  else showFailure(error, again, known)
}

/** Checks whether another look would only fail in the same way. */
export function isFinal(error: unknown): boolean {
  return (
    error instanceof MismatchError || (error instanceof RequestFailure && [401, 404].includes(error.status))
  )
}

/** The message for a person who already saw the request; `recorded` says what is known of a decision they sent. */
export function sessionEnded(recorded: string | undefined, comment: string): HTMLElement {
  const kept = comment.trim() === '' ? 'Sign in to continue.' : 'Your comment is kept.'
  return notice('info', ['your session has ended.', recorded, kept].filter(Boolean).join(' '))
}

/** Asks for sign-in. Before it, the page shows nothing about the request, not even whether it exists (T13). */
export function showInvitation(focus: boolean, signedIn: (user: User) => void, message?: HTMLElement): void {
  const scene = plainScene(
    'Sign in to see this request',
    message,
    lede('The request is shown only to its approvers and to people of its account.'),
    signInPanel(signedIn),
  )
  showScene('Sign in', scene, { focus })
}

function showNotFound(): void {
  showPlain(
    'Request not available',
    lede(
      'It does not exist, or you do not have access to it. Check the link, or sign in as one of its approvers.',
    ),
    buttonRow(
      link(keepFilters('/'), 'Your inbox', { class: 'button primary' }),
      button('Sign in as someone else', 'plain', async () => {
        await endSession().catch(() => {})
        location.reload()
      }),
    ),
  )
}

/** Raises the alarm: the service, or something between it and this page, cannot be trusted. */
function showMismatch(error: Error): void {
  showPlain(
    'Stopped for your safety',
    notice('error', error.message, ' Nothing was signed.'),
    p('Do not approve this request any other way. Tell the operator of this service about this message.'),
  )
}

function showFailure(error: unknown, again: () => Promise<void>, known: Child): void {
  const retry = button('Try again', 'primary', again)
  showPlain('The request could not be loaded', known, notice('failed', sentenceOf(error)), retry)
  const back = (): void => {
    if (retry.isConnected) void again()
  }
  addEventListener('online', back, { once: true })
}

/** The link to follow from a request that cannot be decided here any more. */
export function wayBack(): HTMLElement {
  return el(
    'nav',
    { class: 'buttons way-on', 'aria-label': 'Continue' },
    link(keepFilters('/'), 'Back to the inbox', { class: 'button plain' }),
  )
}
