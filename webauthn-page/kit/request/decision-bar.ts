/** Tells the page how much of its end the bar covers, so that nothing is hidden behind it, not even what has the focus. */
export function keepClear(bar: HTMLElement): void {
  const root = document.documentElement
  new ResizeObserver(() => {
    root.style.setProperty('--bar', `${isFixed(bar) ? bar.offsetHeight : 0}px`)
  }).observe(bar)
}

function isFixed(bar: Element): boolean {
  return bar.isConnected && getComputedStyle(bar).position === 'fixed'
}

/** Where the bar begins that covers the end of the window; the end itself where none does. */
export function barTop(): number {
  const bar = document.querySelector('.decision-bar')
  return bar !== null && isFixed(bar) ? bar.getBoundingClientRect().top : window.innerHeight
}
