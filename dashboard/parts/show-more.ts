import { button } from '../../webauthn-page/kit/dom/button.ts'
import { announce, div } from '../../webauthn-page/kit/dom/element.ts'
import { noticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import type { ListPage } from './read-pages.ts'

interface MoreOptions<T> {
  load(cursor: string): Promise<ListPage<T>>
  /** Adds the rows; `complete` after the last page. @returns the element in the first row that can take the focus */
  add(rows: readonly T[], complete: boolean): HTMLElement | undefined
  /** The nouns for one entry and for several, for screen readers: "20 more requests". */
  called: readonly [one: string, many: string]
}

/** "Show more" below a list; hidden when all pages are shown. */
export function showMore<T>(first: ListPage<T>, { load, add, called }: MoreOptions<T>): HTMLElement {
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
      const count = page.data.length
      announce(`${count} more ${called[count === 1 ? 0 : 1]}`)
    })
  })
  more.hidden = cursor === null
  return div('show-more', slot.element, more)
}

/** "Show more" below a list of rows; the focus goes to the `summary` in the first of the new rows. */
export function moreRows<T>(
  list: HTMLElement,
  first: ListPage<T>,
  { row, ...more }: Omit<MoreOptions<T>, 'add'> & { row(one: T): HTMLElement },
): HTMLElement {
  const add = (data: readonly T[]): HTMLElement | undefined => {
    const rows = data.map(row)
    list.append(...rows)
    return rows[0]?.querySelector('summary') ?? undefined
  }
  add(first.data)
  return showMore(first, { ...more, add })
}
