/** A number is ours; a text may be anyone's. */
export type Cell = string | number

/**
 * Where a cell that begins with one of these would be a formula, some also in the wide forms of East Asian typing. In many countries
 * spreadsheets part cells at semicolons, and know no quotation marks but behind one: there a cell begins in the midst of ours.
 */
const FORMULA = /^(?=[=+\-@\t\r\n＝＋－＠])|((?:^|[;\t\r\n])"*)(?=[=+\-@＝＋－＠])/g

/** One line of a CSV file (RFC 4180). No cell can begin a formula: an apostrophe before it makes a spreadsheet take it as text. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}

/** Numbers of ours are safe as they are. */
function csvCell(value: Cell): string {
  if (typeof value === 'number') return String(value)
  const text = value.replace(FORMULA, "$1'")
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
