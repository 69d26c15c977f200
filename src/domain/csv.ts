/** The content of a cell. Numbers are ours; a text may be anyone's. */
export type Cell = string | number

/**
 * Places where a spreadsheet would see a formula begin, with signs that also have full-width (East Asian) forms. In many
 * countries spreadsheets split cells at semicolons and honour quotation marks only right after one, so that a cell of theirs can
 * begin in the middle of one of ours.
 */
const FORMULA = /^(?=[=+\-@\t\r\n＝＋－＠])|((?:^|[;\t\r\n])"*)(?=[=+\-@＝＋－＠])/g

/** Builds a line of a CSV file (RFC 4180). No cell can begin a formula: an apostrophe makes a spreadsheet take it as text. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}

/** Escapes a text; numbers are ours and safe as they are. */
function csvCell(value: Cell): string {
  if (typeof value === 'number') return String(value)
  const text = value.replace(FORMULA, "$1'")
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
