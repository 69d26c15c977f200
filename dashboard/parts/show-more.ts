import { button } from '../../webauthn-page/kit/dom/button.ts'
import { announce, div } from '../../webauthn-page/kit/dom/element.ts'
import { noticeSlot } from '../../webauthn-page/kit/dom/notice.ts'

/** One page of a list of the service. */
export interface ListPage<T> {
  data: readonly T[]
  next_cursor: string | null
}

/** Where a list is read to its end at once: more than these are not read. */
const MOST = 1000

/** The list from its first page on, to its end or to `most`. @throws as `load` */
export async function readOn<T>(
  first: ListPage<T>,
  load: (cursor: string) => Promise<ListPage<T>>,
  most = MOST,
): Promise<{ data: T[]; complete: boolean }> {
  const data = [...first.data]
  let cursor = first.next_cursor
  while (cursor !== null && data.length < most) {
    const page = await load(cursor)
    data.push(...page.data)
    cursor = page.next_cursor
  }
  return { data, complete: cursor === null }
}

interface MoreOptions<T> {
  load(cursor: string): Promise<ListPage<T>>
  /** Adds the rows to the list; `complete` after the last page. @returns what the focus can go to in the first of them */
  add(rows: readonly T[], complete: boolean): HTMLElement | undefined
  /** What screen readers hear, such as "20 more requests". */
  said(count: number): string
}

/** "Show more" below a list; it is gone when everything is there. */
export function showMore<T>(first: ListPage<T>, { load, add, said }: MoreOptions<T>): HTMLElement {
  let cursor = first.next_cursor
  const slot = noticeSlot()
  const more = button('Show more', 'plain', async () => {
    const next = cursor
    if (next === null) return
    await slot.attempt(async () => {
      const page = await load(next)
      cursor = page.next_cursor
      const start = add(page.data, cursor === null)
      more.hidden = cursor === null
      // The focus would be lost with the button.
      if (more.hidden) start?.focus({ preventScroll: true })
      announce(said(page.data.length))
    })
  })
  more.hidden = cursor === null
  return div('show-more', slot.element, more)
}
