/** Sets `--bar` to the height of the page's end that the bar covers, so that nothing, not even the focus, is hidden behind it. */
export function keepClear(bar: HTMLElement): void {
  const root = document.documentElement
  new ResizeObserver(() => {
    root.style.setProperty('--bar', `${isFixed(bar) ? bar.offsetHeight : 0}px`)
  }).observe(bar)
}

function isFixed(bar: Element): boolean {
  return bar.isConnected && getComputedStyle(bar).position === 'fixed'
}

/** Returns the top, in CSS pixels, of the bar that covers the end of the window; without a bar, the window's end. */
export function barTop(): number {
  const bar = document.querySelector('.decision-bar')
  return bar !== null && isFixed(bar) ? bar.getBoundingClientRect().top : window.innerHeight
}
