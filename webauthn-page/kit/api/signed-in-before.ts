import { keep, kept } from '../dom/kept.ts'
import { okShape } from './contract.ts'
import { RequestFailure, remove } from './request.ts'

const NAME = 'countersign.signed-in'

/**
 * Was a person signed in when this browser was here last? Scripts cannot see the session itself. The answer says which calls
 * are worth making before the service has said who is signed in; it never decides what is shown.
 */
export function wasSignedIn(): boolean {
  return kept('localStorage', NAME) !== null
}

/** Where nothing may be kept, a page asks for the session first. @param reference of the person who is signed in, if anyone is */
export function noteSignedIn(reference: string | undefined): void {
  keep('localStorage', NAME, reference ?? null)
}

/** Signs out, here and in the other tabs; who has no session any more is. @throws RequestFailure, and one is still signed in */
export async function endSession(): Promise<void> {
  try {
    await remove('/session', okShape)
  } catch (error) {
    if (!(error instanceof RequestFailure && error.status === 401)) throw error
  }
  noteSignedIn(undefined)
}

/** Runs `other` when another tab signs out, or signs in as another person: what this one shows is not for the next person (T13). */
export function whenSomeoneElse(other: () => void): void {
  addEventListener('storage', ({ key, oldValue, newValue }) => {
    if (key === NAME && oldValue !== null && oldValue !== newValue) other()
  })
}
