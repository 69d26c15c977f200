type Place = 'localStorage' | 'sessionStorage'

/** Reads the stored text of that name; null when there is none or the browser blocks storage. */
export function kept(place: Place, name: string): string | null {
  try {
    return window[place].getItem(name)
  } catch {
    return null
  }
}

/** Stores the text; null removes it. @returns false when the browser blocks storage or the text is too long for it */
export function keep(place: Place, name: string, value: string | null): boolean {
  try {
    if (value === null) window[place].removeItem(name)
    else window[place].setItem(name, value)
    return true
  } catch {
    return false
  }
}
