const NAME = 'countersign.signed-in'

/**
 * Was somebody signed in when this browser was here last? The session itself is out of reach of scripts. It tells what is
 * worth asking before the service has said who is there; nothing is shown by it.
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
