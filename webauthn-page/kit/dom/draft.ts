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
  const keep = (): void => {
    try {
      if (draft.text === '') sessionStorage.removeItem(name)
      else sessionStorage.setItem(name, JSON.stringify(draft))
    } catch {
      // Refused with cookies, or too long: then the text ends with the page.
    }
  }
  const until = signal === undefined ? {} : { signal }
  addEventListener('pagehide', keep, until)
  // Phones end a page in the background without another word.
  document.addEventListener('visibilitychange', keep, until)
  signal?.addEventListener('abort', keep)
  return draft
}

function read(name: string): Draft {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(name) ?? '{}')
    const { text = '', author = '' } = Object(kept)
    return { text: String(text), author: String(author) }
  } catch {
    return { text: '', author: '' }
  }
}
