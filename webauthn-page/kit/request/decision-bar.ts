import { visibleString } from '../../../src/domain/text.ts'
import { type Child, el } from '../dom/element.ts'

/**
 * Sets `--bar` to the height of the page's end that the bar covers, so that nothing is hidden behind it, and keeps a field that is
 * typed in on the screen: a keyboard that opens changes the bar. In a low window `fields` show the beginning of `action` while
 * they have the focus, and a bar in which nothing can be decided scrolls with the page.
 */
export function keepClear(bar: HTMLElement, action = '', ...fields: HTMLElement[]): void {
  const root = document.documentElement
  bar.classList.toggle('no-buttons', bar.querySelector('.approve, .reject') === null)
  for (const one of fields) one.dataset.action = visibleString(action)
  new ResizeObserver(() => {
    root.style.setProperty('--bar', `${isFixed(bar) ? bar.offsetHeight : 0}px`)
    document.querySelector('.decision-form :focus')?.scrollIntoView({ block: 'nearest' })
  }).observe(bar)
}

/** Names the people whose vote it is, in the bar with the buttons: this is part of what a delegate decides. */
export function decidingFor(...people: Child[]): HTMLElement {
  return el('p', { class: 'deciding-for' }, el('span', {}, 'You decide '), 'for ', ...people, '.')
}

function isFixed(bar: Element): boolean {
  return bar.isConnected && getComputedStyle(bar).position === 'fixed'
}

/** Returns the top, in CSS pixels, of the bar that covers the end of the window; without a bar, the window's end. */
export function barTop(): number {
  const bar = document.querySelector('.decision-bar')
  return bar !== null && isFixed(bar) ? bar.getBoundingClientRect().top : window.innerHeight
}
