import { RequestFailure } from '../api/request.ts'
import { ShapeError } from '../api/shape.ts'
import { type Child, el, link, p } from './element.ts'
import { type Marked, wrong } from './form.ts'

export type NoticeKind = 'error' | 'failed' | 'warning' | 'success' | 'info' | 'working'

const WORDS: Record<NoticeKind, string> = {
  error: 'Not done:',
  // Something could not be loaded; nothing was to be done.
  failed: '',
  warning: 'Careful:',
  success: 'Done:',
  info: 'Note:',
  working: '',
}

/** A message box that states its kind in words as well as in colour. */
export function notice(kind: NoticeKind, ...children: Child[]): HTMLElement {
  return el(
    'div',
    { class: `notice ${kind}`, tabindex: -1 },
    p(WORDS[kind] !== '' && el('strong', {}, `${WORDS[kind]} `), ...children),
  )
}

/** A place for a form's newest message; screen readers read it at once. */
export type NoticeSlot = ReturnType<typeof noticeSlot>

export function noticeSlot() {
  const element = el('div', { class: 'notice-slot', role: 'alert' })
  const show = (kind: NoticeKind, ...children: Child[]): void => {
    element.replaceChildren(notice(kind, ...children))
  }
  const clear = (): void => element.replaceChildren()
  const fail = (error: unknown, fields: Record<string, Marked> = {}): void => {
    const refused = error instanceof RequestFailure ? error : undefined
    const named = refused?.field === undefined ? undefined : fields[refused.field]
    if (refused === undefined || named === undefined) show(...whatFailed(error))
    else {
      clear()
      wrong(named, sentenceAt(refused))
    }
  }
  return {
    element,
    show,
    /** Shows what went wrong: at the field the service named, if it is one of `fields`, else here. */
    fail,
    clear,
    /** Clears the message and runs `work`; shows an error of `work` as `fail` does. */
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

/** Returns the message for an error: a warning for a lost answer, since the call may have worked; a link for an ended session. */
function whatFailed(error: unknown): [NoticeKind, ...Child[]] {
  const code = error instanceof RequestFailure ? error.code : undefined
  if (code === 'not_signed_in')
    return ['error', 'your session has ended. ', link(signInHref(), 'Sign in'), ' and try again.']
  return [code === 'unanswered' ? 'warning' : 'error', sentenceOf(error)]
}

/** Returns the address of the sign-in page, which leads back to the current page. */
export function signInHref(): string {
  return `/signin?next=${encodeURIComponent(location.pathname + location.search)}`
}

/** Errors that browsers throw: their messages are for programmers and differ between browsers. */
const BROWSERS_OWN = [DOMException, RangeError, ReferenceError, SyntaxError, TypeError]

/** Returns the sentence to show beside the field that was refused, where its label stands for its name. */
export function sentenceAt(refused: RequestFailure): string {
  const words = sentenceOf(refused)
  const name = `${refused.field} `
  return words.startsWith(name) ? `It ${words.slice(name.length)}` : words
}

/** Returns one sentence for people about an error. */
export function sentenceOf(error: unknown): string {
  if (error instanceof ShapeError)
    return 'The service sent an answer that this page does not understand. Reload the page.'
  const own = error instanceof Error && !BROWSERS_OWN.some((type) => error instanceof type)
  if (own && error.message !== '') return error.message
  return 'Something went wrong in this page. Reload it and try again.'
}
