let shown = ''

/** Notes the shown page, so that a jump within it is not taken for another page. */
export function noteShown(): void {
  shown = here()
}

/** Checks whether the address leads to the shown page, or to a place within it. */
export function isShown(): boolean {
  return here() === shown
}

/** Replaces the address of the shown page, for example for its filters, without a new entry in the history. */
export function replaceAddress(address: string): void {
  history.replaceState(history.state, '', address)
  noteShown()
}

/** Writes these filters into the address and keeps the rest of it; removes filters without a value. */
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
