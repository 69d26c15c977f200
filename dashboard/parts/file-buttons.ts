import { type Cell, csvLine } from '../../src/domain/csv.ts'
import { button } from '../../webauthn-page/kit/dom/button.ts'
import { div, el } from '../../webauthn-page/kit/dom/element.ts'
import type { NoticeSlot } from '../../webauthn-page/kit/dom/notice.ts'

/** The label of a download; on a phone only the format, for lack of room. */
export function downloadWords(format: string): HTMLElement {
  return el('span', {}, el('span', { class: 'not-on-phones' }, 'Download '), format.toUpperCase())
}

interface FileOfRows<Row> {
  /** The beginning of the file's name. */
  name: string
  /** The content of each column, by the column's name. */
  columns: Record<string, (row: Row) => Cell>
  /** All rows that are listed now, and no others. */
  rows(): readonly Row[] | Promise<readonly Row[]>
  /** Shows a failure. */
  slot: NoticeSlot
}

/** Two buttons that save a list as a file made by the page, for lists that the service does not export. */
export function fileButtons<Row>({ name, columns, rows, slot }: FileOfRows<Row>): HTMLElement {
  const files = {
    csv: (all: readonly Row[]) => {
      const cells = Object.values(columns)
      return [Object.keys(columns), ...all.map((row) => cells.map((cell) => cell(row)))].map(csvLine)
    },
    ndjson: (all: readonly Row[]) => all.map((row) => `${JSON.stringify(row)}\n`),
  }
  const hand = async (format: keyof typeof files): Promise<void> => {
    const href = URL.createObjectURL(new Blob(files[format](await rows())))
    const download = `${name}-${new Date().toISOString().slice(0, 10)}.${format}`
    el('a', { href, download }).click()
    // Some browsers read the address only after the click has returned.
    setTimeout(() => URL.revokeObjectURL(href), 60_000)
  }
  const one = (format: keyof typeof files): HTMLElement => {
    const made = button('', 'quiet', () => slot.attempt(() => hand(format)))
    made.append(downloadWords(format))
    return made
  }
  return div('file-buttons', one('csv'), one('ndjson'))
}
