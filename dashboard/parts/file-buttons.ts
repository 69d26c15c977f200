import { type Cell, csvLine } from '../../src/domain/csv.ts'
import { button } from '../../webauthn-page/kit/dom/button.ts'
import { div, el } from '../../webauthn-page/kit/dom/element.ts'
import type { NoticeSlot } from '../../webauthn-page/kit/dom/notice.ts'

/** A phone has room for the format alone. */
export function downloadWords(format: string): HTMLElement {
  return el('span', {}, el('span', { class: 'not-on-phones' }, 'Download '), format.toUpperCase())
}

interface FileOfRows<Row> {
  /** Its name begins with this. */
  name: string
  /** What stands in each, by its name. */
  columns: Record<string, (row: Row) => Cell>
  /** Exactly what is listed now, all of it. */
  rows(): readonly Row[] | Promise<readonly Row[]>
  /** Shows what went wrong. */
  slot: NoticeSlot
}

/** Two buttons that hand out a list as a file which the page makes itself, for lists that the service gives no file of. */
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
    // Some browsers read it only after this.
    setTimeout(() => URL.revokeObjectURL(href), 60_000)
  }
  const one = (format: keyof typeof files): HTMLElement => {
    const made = button('', 'quiet', () => slot.attempt(() => hand(format)))
    made.append(downloadWords(format))
    return made
  }
  return div('file-buttons', one('csv'), one('ndjson'))
}
