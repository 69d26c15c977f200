let shown = ''

/** Notes which page is shown, so that a jump within it is not taken for another one. */
export function noteShown(): void {
  shown = here()
}

/** Does the address lead to the page that is shown, or to a place within it? */
export function isShown(): boolean {
  return here() === shown
}

/** For the same page as its filters are now: no step in the history. */
export function replaceAddress(address: string): void {
  history.replaceState(history.state, '', address)
  noteShown()
}

/** Writes these into the address and leaves the rest of it; what is empty is taken away. */
export function keepInAddress(filters: readonly { name: string; value: string }[]): void {
  const query = new URLSearchParams(location.search)
  for (const { name, value } of filters) {
    if (value === '') query.delete(name)
    else query.set(name, value)
  }
  const search = query.toString()
  replaceAddress(`${location.pathname}${search && `?${search}`}`)
}

function here(): string {
  return location.pathname + location.search
}
