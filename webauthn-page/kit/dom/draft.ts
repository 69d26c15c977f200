import { keep, kept } from './kept.ts'

/** A text being written, and the reference of its author; empty when nobody is signed in. */
export interface Draft {
  text: string
  author: string
  /** The reason that was chosen for a rejection; it is not stored. */
  reason?: string | undefined
}

/**
 * Returns the draft stored under `name` in this tab. It is for its author alone: the page empties it for another person.
 * The draft is stored whenever the person leaves the page, and lives as long as the tab.
 * @param signal is aborted when another page of the same document replaces this one
 */
export function keptDraft(name: string, signal?: AbortSignal): Draft {
  const draft = read(name)
  // If the browser blocks storage together with cookies, or the text is too long, the draft is lost with the page.
  const write = () => keep('sessionStorage', name, draft.text === '' ? null : JSON.stringify(draft))
  const until = signal === undefined ? {} : { signal }
  addEventListener('pagehide', write, until)
  // Phones end a page in the background without a further event.
  document.addEventListener('visibilitychange', write, until)
  signal?.addEventListener('abort', write)
  return draft
}

function read(name: string): Draft {
  try {
    const draft: unknown = JSON.parse(kept('sessionStorage', name) ?? '{}')
    const { text = '', author = '' } = Object(draft)
    return { text: String(text), author: String(author) }
  } catch {
    return { text: '', author: '' }
  }
}
