import { announce, el } from '../dom/element.ts'
import type { NoticeSlot } from '../dom/notice.ts'

/** Selects the smallest parts of the caller's text: each holds one value. */
const PARTS = '.action, .caller-row > dd, .leaf, .finding, .drawn, .attachment'

/** The unseen parts, in the order of the page, and whether the start and the end of each were on the screen. */
type Parts = Map<HTMLElement, { start: boolean; end: boolean }>

/** The parts of a request that were not on the screen yet, among them folded parts and the rest of a scrolling text. */
export type Unseen = ReturnType<typeof watchUnseen>

/**
 * Counts the parts of the caller's text that were not on the screen yet. The screen ends at `floor`, the top of the bar that
 * covers the end of the window. A part was seen when its beginning and its end were.
 */
export function watchUnseen(floor: () => number) {
  const parts: Parts = new Map()
  const element = el('button', { type: 'button', class: 'button quiet see-more', hidden: true })
  let watched = false
  let goOn = (): void => {}
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
    takeOut(parts, windowOf(floor()))
    if (parts.size === before) return
    goOn()
    say()
    if (parts.size === 0 && watched) announce('All fields of the request were on your screen')
  }
  element.addEventListener('click', () => {
    // Clears the request to read on, so that it no longer covers the page.
    goOn()
    const turned = scrollToNext(parts, floor)
    look()
    // While the same part continues, the focus stays on this button for the next press.
    if (turned === undefined || (turned.paged && parts.size > 0)) return
    turned.part.tabIndex = -1
    turned.part.focus({ preventScroll: true })
    if (parts.size > 0) announce(unreadWords(parts.size))
  })
  const stop = followSight(look)
  const unseen = {
    /** A button that says how many fields are left and leads to the next one; hidden when none is left. */
    element,
    left: () => parts.size,
    /** Called when the number of unseen parts changed. */
    changed: () => {},
    /** From now on counts the unseen parts inside these elements. */
    watch: (...pages: HTMLElement[]) => {
      for (const part of pages.flatMap((page) => [...page.querySelectorAll<HTMLElement>(PARTS)])) {
        if (part.querySelector(PARTS) === null) parts.set(part, { start: false, end: false })
      }
      say()
      look()
      // If everything fits on the first screen, nothing is announced.
      watched = true
    },
    /** Removes the parts that are on the screen now from the count. */
    look,
    /** Says, until the person reads on, how many fields they must see before they approve; `which` begins the sentence. */
    askToRead(slot: NoticeSlot, which: string) {
      slot.show(
        'warning',
        `${which} a high impact, and ${unreadWords(parts.size)} “${element.textContent}” leads you there.`,
      )
      const said = slot.element.firstChild
      goOn = () => {
        if (said?.isConnected) slot.clear()
      }
    },
    stop,
  }
  return unseen
}

/** Runs `look` whenever something may have come into sight. @returns a function that ends this */
function followSight(look: () => void): () => void {
  const over = new AbortController()
  const { signal } = over
  // Listens in the capture phase, since neither the `scroll` event of a box nor the `toggle` event of a fold bubbles.
  for (const event of ['scroll', 'toggle', 'click']) {
    document.addEventListener(event, look, { capture: true, passive: true, signal })
  }
  addEventListener('resize', look, { signal })
  document.addEventListener('visibilitychange', look, { signal })
  // Elements above may disappear or shrink, which moves parts into sight.
  const moved = new ResizeObserver(look)
  moved.observe(document.body)
  signal.addEventListener('abort', () => moved.disconnect())
  return () => over.abort()
}

function unreadWords(count: number): string {
  return `${count === 1 ? '1 field was' : `${count} fields were`} not on your screen yet.`
}

interface Sight {
  top: number
  bottom: number
}

/** Returns the visible part of the window: less while an on-screen keyboard is open or the page is pinch-zoomed. */
function windowOf(floor: number): Sight {
  const { offsetTop: top, height } = window.visualViewport ?? { offsetTop: 0, height: window.innerHeight }
  return { top, bottom: Math.min(floor, top + height) }
}

/** Removes the parts that have been seen. */
function takeOut(parts: Parts, { top, bottom }: Sight): void {
  for (const [part, seen] of parts) {
    const box = part.getBoundingClientRect()
    if (box.height === 0 || isFolded(part)) continue
    seen.start ||= box.top >= top - 1 && box.top < bottom
    seen.end ||= box.bottom > top && box.bottom <= bottom + 1 && isReadToItsEnd(part)
    if (seen.start && seen.end) parts.delete(part)
  }
}

/** Checks the enclosing `<details>`, not the layout: browsers may lay out the content of a closed one. */
function isFolded(part: HTMLElement): boolean {
  return part.closest('details:not([open])') !== null
}

function isReadToItsEnd(part: HTMLElement): boolean {
  if (part.querySelector('details:not([open]), .loading') !== null) return false
  return [...part.querySelectorAll('.long-value')].every(
    (box) => box.scrollTop + box.clientHeight >= box.scrollHeight - 2,
  )
}

/** Scrolls on by up to a screen, and opens the folded parts on it. @returns undefined when nothing is left */
function scrollToNext(parts: Parts, floor: () => number): { part: HTMLElement; paged: boolean } | undefined {
  const [next] = parts
  if (next === undefined) return undefined
  const [part, { start }] = next
  const paged = leadOn(part, start, windowOf(floor()))
  const { bottom } = windowOf(floor())
  for (const one of parts.keys()) {
    unfold(one)
    if (one.getBoundingClientRect().top >= bottom) break
  }
  return { part, paged }
}

/** CSS pixels of the old screen that stay visible after a turn to the next, so that the eye finds its place. */
const OVERLAP = 48

/**
 * Scrolls the beginning of the part to the top of the screen. For a part that is longer than the screen and already begun,
 * scrolls to its next screenful, so that no line is skipped. @returns whether it turned the page in the same part
 */
function leadOn(part: HTMLElement, begun: boolean, { top, bottom }: Sight): boolean {
  const opened = unfold(part)
  const room = bottom - top
  const box = part.getBoundingClientRect()
  const first = beginningOf(part, room)
  const paged = begun && !opened && box.top < bottom && box.bottom > top && box.bottom - first > room
  const scroller = part.closest('dialog') ?? document.documentElement
  scroller.scrollBy({ top: paged ? Math.max(room - OVERLAP, room / 2) : first - top, behavior: 'instant' })
  return paged
}

/** Returns where the part begins, including the name of the group it belongs to, if that name is near. */
function beginningOf(part: HTMLElement, room: number): number {
  const { top } = part.getBoundingClientRect()
  const group = part.closest('.caller-row, details')?.getBoundingClientRect().top ?? top
  return top - group <= room / 4 ? group : top - Math.min(OVERLAP, room / 4)
}

/** Opens everything that hides the part or some of it. @returns whether anything was closed */
function unfold(part: HTMLElement): boolean {
  const closed = [...part.querySelectorAll('details:not([open])')]
  for (let around: Element | null = part; around !== null; around = around.parentElement)
    if (around.matches('details:not([open])')) closed.push(around)
  for (const fold of closed) fold.setAttribute('open', '')
  const boxes = part.querySelectorAll<HTMLElement>('.long-caption [aria-expanded="false"]')
  for (const box of boxes) box.click()
  return closed.length + boxes.length > 0
}
