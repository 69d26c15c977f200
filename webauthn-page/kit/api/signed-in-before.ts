import { keep, kept } from '../dom/kept.ts'
import { okShape } from './contract.ts'
import { RequestFailure, remove } from './request.ts'

const NAME = 'countersign.signed-in'

/**
 * Checks whether a person was signed in when this browser last used a page. Scripts cannot see the session itself. The result
 * tells which calls are worth making before the service has said who is signed in; it never decides what is shown.
 */
export function wasSignedIn(): boolean {
  return kept('localStorage', NAME) !== null
}

/** Remembers who is signed in. Without storage, a page asks for the session first. @param reference undefined for nobody */
export function noteSignedIn(reference: string | undefined): void {
  keep('localStorage', NAME, reference ?? null)
}

/** Signs out here and in the other tabs; an ended session (401) counts as signed out. @throws RequestFailure if it fails */
export async function endSession(): Promise<void> {
  try {
    await remove('/session', okShape)
  } catch (error) {
    if (!(error instanceof RequestFailure && error.status === 401)) throw error
  }
  noteSignedIn(undefined)
  // How many requests wait is nothing for whoever comes next (`dashboard/inbox/badge.ts`).
  if ('clearAppBadge' in navigator) await navigator.clearAppBadge().catch(() => {})
}

/** Runs `other` when another tab signs out or in as someone else: the next person must not see what this tab shows (T13). */
export function whenSomeoneElse(other: () => void): void {
  addEventListener('storage', ({ key, oldValue, newValue }) => {
    if (key === NAME && oldValue !== null && oldValue !== newValue) other()
  })
}
