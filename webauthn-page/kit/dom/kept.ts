type Place = 'localStorage' | 'sessionStorage'

/** What this browser keeps under that name; null for nothing, and where it keeps nothing at all. */
export function kept(place: Place, name: string): string | null {
  try {
    return window[place].getItem(name)
  } catch {
    return null
  }
}

/** null forgets it. @returns false where this browser keeps nothing, or not so much */
export function keep(place: Place, name: string, value: string | null): boolean {
  try {
    if (value === null) window[place].removeItem(name)
    else window[place].setItem(name, value)
    return true
  } catch {
    return false
  }
}
