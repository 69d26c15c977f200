const NAME = 'countersign.signed-in'

/**
 * Was a person signed in when this browser was here last? Scripts cannot see the session itself. The answer says which calls
 * are worth making before the service has said who is signed in; it never decides what is shown.
 */
export function wasSignedIn(): boolean {
  try {
    return localStorage.getItem(NAME) !== null
  } catch {
    return false
  }
}

export function noteSignedIn(signedIn: boolean): void {
  try {
    if (signedIn) localStorage.setItem(NAME, 'yes')
    else localStorage.removeItem(NAME)
  } catch {
    // Where nothing may be kept, a page asks for the session first.
  }
}
