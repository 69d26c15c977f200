import { RequestFailure } from '../api/request.ts'
import { ShapeError } from '../api/shape.ts'
import { type Child, el, link, p } from './element.ts'
import { type Marked, wrong } from './form.ts'

export type NoticeKind = 'error' | 'failed' | 'warning' | 'success' | 'info' | 'working'

const WORDS: Record<NoticeKind, string> = {
  error: 'Not done:',
  // What was only to be shown.
  failed: '',
  warning: 'Careful:',
  success: 'Done:',
  info: 'Note:',
  working: '',
}

/** A message box whose kind is said in words as well as in colour. */
export function notice(kind: NoticeKind, ...children: Child[]): HTMLElement {
  return el(
    'div',
    { class: `notice ${kind}`, tabindex: -1 },
    p(WORDS[kind] !== '' && el('strong', {}, `${WORDS[kind]} `), ...children),
  )
}

/** A place for the newest message of a form; screen readers hear it at once. */
export type NoticeSlot = ReturnType<typeof noticeSlot>

export function noticeSlot() {
  const element = el('div', { class: 'notice-slot', role: 'alert' })
  const show = (kind: NoticeKind, ...children: Child[]): void => {
    element.replaceChildren(notice(kind, ...children))
  }
  const clear = (): void => element.replaceChildren()
  const fail = (error: unknown, fields: Record<string, Marked> = {}): void => {
    const named =
      error instanceof RequestFailure && error.field !== undefined ? fields[error.field] : undefined
    if (named === undefined) show(...whatFailed(error))
    else {
      clear()
      wrong(named, sentenceOf(error))
    }
  }
  return {
    element,
    show,
    /** Shows what went wrong; with `fields`, at the field the service named. */
    fail,
    clear,
    /** Empties the place and runs `work`; what that throws it shows as `fail` does. */
    async attempt(work: () => void | Promise<void>, fields?: Record<string, Marked>) {
      clear()
      try {
        await work()
      } catch (error) {
        fail(error, fields)
      }
    },
  }
}

/** An answer that was lost says nothing of what was done; who is signed out can mend that at once. */
function whatFailed(error: unknown): [NoticeKind, ...Child[]] {
  const code = error instanceof RequestFailure ? error.code : undefined
  if (code === 'not_signed_in')
    return ['error', 'your session has ended. ', link(signInHref(), 'Sign in'), ' and try again.']
  return [code === 'unanswered' ? 'warning' : 'error', sentenceOf(error)]
}

/** To the sign-in and back to this very place. */
export function signInHref(): string {
  return `/signin?next=${encodeURIComponent(location.pathname + location.search)}`
}

/** What browsers throw is written for programmers, each in words of its own. */
const BROWSERS_OWN = [DOMException, RangeError, ReferenceError, SyntaxError, TypeError]

/** One sentence for people. */
export function sentenceOf(error: unknown): string {
  if (error instanceof ShapeError)
    return 'The service gave an answer this page does not understand. Reload the page.'
  const own = error instanceof Error && !BROWSERS_OWN.some((type) => error instanceof type)
  if (own && error.message !== '') return error.message
  return 'Something went wrong in this page. Reload it and try again.'
}
