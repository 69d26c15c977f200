import { type Child, el } from './element.ts'

/** Rows of name and value. */
export function facts(...rows: (readonly [name: string, ...value: Child[]] | undefined)[]): HTMLElement {
  const list = el('dl', { class: 'facts' })
  for (const row of rows) {
    if (row === undefined) continue
    const [name, ...value] = row
    list.append(el('div', {}, el('dt', {}, name), el('dd', {}, ...value)))
  }
  return list
}
