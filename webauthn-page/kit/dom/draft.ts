import { keep, kept } from './kept.ts'

/** What a person is writing, and their reference; empty for one who is not signed in. */
export interface Draft {
  text: string
  author: string
}

/**
 * What was being written under that name in this tab before it was left, for its author alone: the page empties it for another
 * one. It is written down whenever the page is left, and lives as long as the tab.
 * @param signal is aborted where the page makes room for another one of the same document
 */
export function keptDraft(name: string, signal?: AbortSignal): Draft {
  const draft = read(name)
  // Refused with cookies, or too long, the text ends with the page.
  const write = () => keep('sessionStorage', name, draft.text === '' ? null : JSON.stringify(draft))
  const until = signal === undefined ? {} : { signal }
  addEventListener('pagehide', write, until)
  // Phones end a page in the background without another word.
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
