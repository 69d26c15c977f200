import { button } from '../../webauthn-page/kit/dom/button.ts'
import { div } from '../../webauthn-page/kit/dom/element.ts'
import type { InboxRow } from './inbox-row.ts'

/** From this many rows of one kind on, they are folded under the first of them. */
const FOLDED_FROM = 3

/** Kinds whose rows the person unfolded. */
export type Unfolded = Set<string>

/**
 * Puts rows of the same kind (key, tool and shape of the request) behind the first of them, folds them, and gives that first row
 * the controls of its group.
 * @param rows in order; only those that the filters let through
 * @param changed runs when the person folds, unfolds or ticks a group
 * @returns all rows in their new order
 */
export function groupRows(rows: readonly InboxRow[], unfolded: Unfolded, changed: () => void): InboxRow[] {
  const groups = new Map<string, InboxRow[]>()
  for (const row of rows) {
    const { kind = row.request.id } = row.request
    groups.set(kind, [...(groups.get(kind) ?? []), row])
  }
  for (const [kind, [first, ...others]] of groups) {
    if (first === undefined) continue
    const grouped = others.length + 1 >= FOLDED_FROM
    for (const { element } of others) element.classList.toggle('folded', grouped && !unfolded.has(kind))
    first.element.classList.remove('folded')
    first.group.replaceChildren(...(grouped ? controls(kind, [first, ...others], unfolded, changed) : []))
    for (const { group } of others) group.replaceChildren()
  }
  return [...groups.values()].flat()
}

/** Shows every row by itself again. */
export function ungroupRows(rows: readonly InboxRow[]): void {
  for (const { element, group } of rows) {
    element.classList.remove('folded')
    group.replaceChildren()
  }
}

function controls(
  kind: string,
  rows: readonly InboxRow[],
  unfolded: Unfolded,
  changed: () => void,
): HTMLElement[] {
  const open = unfolded.has(kind)
  const fold = button(
    open ? 'Show one' : `${rows.length - 1} more like it`,
    'quiet',
    () => {
      if (open) unfolded.delete(kind)
      else unfolded.add(kind)
      changed()
      // The controls were made anew.
      rows[0]?.group.querySelector('button')?.focus()
    },
    { 'aria-expanded': String(open) },
  )
  const able = rows.filter(({ box }) => box !== undefined).filter(isReady)
  const left = rows.length - able.length
  const select = button(`Select ${able.length}`, 'quiet', () => {
    for (const { box } of able) if (box !== undefined) box.checked = true
    changed()
  })
  const note = left > 0 ? div('hint', `${left} of high impact must be opened first`) : undefined
  return [fold, ...(able.length > 1 ? [select] : []), ...(note === undefined ? [] : [note])]
}

/** One gesture takes only what the person opened, or what has no high impact (T18). */
function isReady({ request, opened }: InboxRow): boolean {
  return !request.high_impact || opened()
}
