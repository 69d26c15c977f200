/** A number is ours; a text may be anyone's. */
export type Cell = string | number

/** Spreadsheets take a cell that begins like this for a formula, some also in the wide forms of East Asian typing. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/

/** One line of a CSV file (RFC 4180). No cell can begin a formula: an apostrophe before it makes a spreadsheet take it as text. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}

/** Numbers of ours are safe as they are. */
function csvCell(value: Cell): string {
  if (typeof value === 'number') return String(value)
  const text = FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
