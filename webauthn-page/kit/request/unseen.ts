import { announce, el } from '../dom/element.ts'
import type { NoticeSlot } from '../dom/notice.ts'

/** The smallest pieces of what a caller wrote: each holds one value. */
const PARTS = '.action, .caller-row > dd, .leaf, .finding, .drawn'

/** In the order of the page, what of each was on the screen. */
type Parts = Map<HTMLElement, { start: boolean; end: boolean }>

/** What of a request was not on the screen yet. Folded parts and the rest of a text that scrolls were not. */
export type Unseen = ReturnType<typeof watchUnseen>

/**
 * Counts the parts of what a caller wrote that were not on the screen yet, above `floor`, where what covers the end of the
 * window begins. A part was seen when its beginning and its end were.
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
    // What it said covers the page no more.
    goOn()
    const turned = seeNext(parts, floor)
    look()
    // While the same part goes on, the focus stays for the next press.
    if (turned === undefined || (turned.paged && parts.size > 0)) return
    turned.part.tabIndex = -1
    turned.part.focus({ preventScroll: true })
    if (parts.size > 0) announce(unreadWords(parts.size))
  })
  const stop = followSight(look)
  const unseen = {
    /** A button that says how many fields are left and leads to the next of them; hidden when none is. */
    element,
    left: () => parts.size,
    /** Called when that number changed. */
    changed: () => {},
    /** From now on counts what of these parts of the page is left. */
    watch: (...pages: HTMLElement[]) => {
      for (const part of pages.flatMap((page) => [...page.querySelectorAll<HTMLElement>(PARTS)])) {
        if (part.querySelector(PARTS) === null) parts.set(part, { start: false, end: false })
      }
      say()
      look()
      // What fitted on the first screen needs no word.
      watched = true
    },
    /** Looks at what is on the screen now. */
    look,
    /** Says, until the person goes on, what must be looked at before it is approved; `which` begins the sentence. */
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

function unreadWords(count: number): string {
  return `${count === 1 ? '1 field was' : `${count} fields were`} not on your screen yet.`
}

interface Sight {
  top: number
  bottom: number
}

/** What of the window is seen: less while a keyboard is open or the page is enlarged by hand. */
function windowOf(floor: number): Sight {
  const { offsetTop: top, height } = window.visualViewport ?? { offsetTop: 0, height: window.innerHeight }
  return { top, bottom: Math.min(floor, top + height) }
}

/** Takes out what was seen by now. */
function takeOut(parts: Parts, { top, bottom }: Sight): void {
  for (const [part, seen] of parts) {
    const box = part.getBoundingClientRect()
    if (box.height === 0 || isFolded(part)) continue
    seen.start ||= box.top >= top - 1 && box.top < bottom
    seen.end ||= box.bottom > top && box.bottom <= bottom + 1 && isReadToItsEnd(part)
    if (seen.start && seen.end) parts.delete(part)
  }
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

/** Leads on by a screen, and opens what is folded in it. @returns undefined where nothing is left */
function seeNext(parts: Parts, floor: () => number): { part: HTMLElement; paged: boolean } | undefined {
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

/** Lines that stay on the screen when it turns to the next, so that the eye finds its place. */
const OVERLAP = 48

/**
 * Brings the beginning of the part to the top of the screen; of one that is longer than the screen and was begun, the next
 * screenful, so that no line is passed over. @returns whether it turned the page in the same part
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

/** Where the part begins with the name of what it belongs to, if that is near. */
function beginningOf(part: HTMLElement, room: number): number {
  const { top } = part.getBoundingClientRect()
  const group = part.closest('.caller-row, details')?.getBoundingClientRect().top ?? top
  return top - group <= room / 4 ? group : top - Math.min(OVERLAP, room / 4)
}

/** Opens what hides the part or some of it. @returns whether anything was closed */
function unfold(part: HTMLElement): boolean {
  const closed = [...part.querySelectorAll('details:not([open])')]
  for (let around: Element | null = part; around !== null; around = around.parentElement)
    if (around.matches('details:not([open])')) closed.push(around)
  for (const fold of closed) fold.setAttribute('open', '')
  const boxes = part.querySelectorAll<HTMLElement>('.long-caption [aria-expanded="false"]')
  for (const box of boxes) box.click()
  return closed.length + boxes.length > 0
}
