import { announce, el } from '../dom/element.ts'
import type { NoticeSlot } from '../dom/notice.ts'

/** The smallest pieces of what a caller wrote: each holds one value. */
const PARTS = '.action, .caller-row > dd, .leaf, .finding, .drawn'

/** What of a request was not on the screen yet. Folded parts and the rest of a text that scrolls were not. */
export interface Unseen {
  /** A button that says how many fields are left and leads to the next of them; hidden when none is. */
  element: HTMLButtonElement
  left(): number
  /** Called when that number changed. */
  changed: () => void
  /** From now on counts what of these parts of the page is left. */
  watch(...pages: HTMLElement[]): void
  /** Looks at what is on the screen now. */
  look(): void
  stop(): void
}

/**
 * Counts the parts of what a caller wrote that were not on the screen yet, above `floor`, where what covers the end of the
 * window begins. A part was seen when its beginning and its end were.
 */
export function watchUnseen(floor: () => number): Unseen {
  const parts = new Map<HTMLElement, { start: boolean; end: boolean }>()
  const element = el('button', { type: 'button', class: 'button quiet see-more', hidden: true })
  let watched = false
  const say = (): void => {
    element.textContent = `See ${parts.size} more`
    element.setAttribute(
      'aria-label',
      parts.size === 1 ? 'See 1 more field' : `See ${parts.size} more fields`,
    )
    element.hidden = parts.size === 0
    unseen.changed()
  }
  const look = (): void => {
    if (document.visibilityState !== 'visible' || parts.size === 0) return
    const before = parts.size
    const { top, bottom } = windowOf(floor())
    for (const [part, seen] of parts) {
      const box = part.getBoundingClientRect()
      if (box.height === 0 || isFolded(part)) continue
      seen.start ||= box.top >= top - 1 && box.top < bottom
      seen.end ||= box.bottom > top && box.bottom <= bottom + 1 && isReadToItsEnd(part)
      if (seen.start && seen.end) parts.delete(part)
    }
    if (parts.size === before) return
    say()
    if (parts.size === 0 && watched) announce('All fields of the request were on your screen')
  }
  element.addEventListener('click', () => {
    const [next] = parts.keys()
    if (next !== undefined) leadTo(next)
    look()
  })
  const stop = followSight(look)
  const unseen: Unseen = {
    element,
    left: () => parts.size,
    changed: () => {},
    watch: (...pages) => {
      for (const part of pages.flatMap((page) => [...page.querySelectorAll<HTMLElement>(PARTS)])) {
        if (part.querySelector(PARTS) === null) parts.set(part, { start: false, end: false })
      }
      say()
      look()
      // What fitted on the first screen needs no word.
      watched = true
    },
    look,
    stop,
  }
  return unseen
}

/** Runs `look` whenever something may have come into sight. @returns what ends that */
function followSight(look: () => void): () => void {
  const over = new AbortController()
  const { signal } = over
  // In capture, since neither the scrolling of a box nor the opening of a fold bubbles.
  for (const event of ['scroll', 'toggle', 'click']) {
    document.addEventListener(event, look, { capture: true, passive: true, signal })
  }
  addEventListener('resize', look, { signal })
  document.addEventListener('visibilitychange', look, { signal })
  // What stands above may go, or become lower.
  const moved = new ResizeObserver(look)
  moved.observe(document.body)
  signal.addEventListener('abort', () => moved.disconnect())
  return () => over.abort()
}

/** Says what must be looked at before it is approved; `which` begins the sentence. */
export function askToRead(slot: NoticeSlot, unseen: Unseen, which: string): void {
  const fields = unseen.left() === 1 ? '1 field was' : `${unseen.left()} fields were`
  slot.show(
    'warning',
    `${which} a high impact, and ${fields} not on your screen yet. “${unseen.element.textContent}” leads you there.`,
  )
}

/** What of the window is seen: less while a keyboard is open or the page is enlarged by hand. */
function windowOf(floor: number): { top: number; bottom: number } {
  const { offsetTop: top, height } = window.visualViewport ?? { offsetTop: 0, height: window.innerHeight }
  return { top, bottom: Math.min(floor, top + height) }
}

/** By the fold itself: browsers may lay out what a closed one holds. */
function isFolded(part: HTMLElement): boolean {
  return part.closest('details:not([open])') !== null
}

function isReadToItsEnd(part: HTMLElement): boolean {
  if (part.querySelector('details:not([open])') !== null) return false
  return [...part.querySelectorAll('.long-value')].every(
    (box) => box.scrollTop + box.clientHeight >= box.scrollHeight - 2,
  )
}

/** Opens what hides the part, brings its beginning to the top and moves the focus there, for screen readers, too. */
function leadTo(part: HTMLElement): void {
  for (
    let fold = part.closest('details');
    fold !== null;
    fold = fold.parentElement?.closest('details') ?? null
  )
    fold.open = true
  for (const fold of part.querySelectorAll('details')) fold.open = true
  for (const open of part.querySelectorAll<HTMLElement>('.long-caption [aria-expanded="false"]')) open.click()
  part.tabIndex = -1
  part.scrollIntoView({ block: 'start' })
  part.focus({ preventScroll: true })
}
