import type { Child } from '../kit/dom/element.ts'

/** The comment that a person is writing, and who that is by their reference. */
export interface Draft {
  comment: string
  author: string
}

/**
 * What was being written in this tab before it was loaded anew, for its author alone: the page empties it for another one.
 * Kept in the tab whenever it is left.
 */
export function keptDraft(id: string): Draft {
  const key = `comment:${id}`
  const draft = read(key)
  const keep = (): void => {
    try {
      if (draft.comment === '') sessionStorage.removeItem(key)
      else sessionStorage.setItem(key, JSON.stringify(draft))
    } catch {
      // Refused with cookies: then the comment ends with the page.
    }
  }
  addEventListener('pagehide', keep)
  // Phones end a page in the background without another word.
  document.addEventListener('visibilitychange', keep)
  return draft
}

function read(key: string): Draft {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(key) ?? '{}')
    const { comment = '', author = '' } = Object(kept)
    return { comment: String(comment), author: String(author) }
  } catch {
    return { comment: '', author: '' }
  }
}

/** What a person whose session ended is told of their decision. */
export function whatIsKept({ comment }: Draft): Child[] {
  return ['Nothing was recorded. ', comment.trim() === '' ? 'Sign in and decide.' : 'Your comment is kept.']
}
