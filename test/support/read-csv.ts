/** Reads a CSV file strictly by the grammar of RFC 4180: every line ends in CR LF. @throws where it is not one */
export function readCsv(text: string): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  let at = 0
  while (at < text.length) {
    const cell = /"((?:[^"]|"")*)"(,|\r\n)|([^",\r\n]*)(,|\r\n)/y
    cell.lastIndex = at
    const found = cell.exec(text)
    if (found === null) throw new Error(`no cell at ${JSON.stringify(text.slice(at, at + 40))}`)
    const [whole, quoted, end, plain, plainEnd] = found
    row.push(quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'))
    at += whole.length
    if ((end ?? plainEnd) === '\r\n') {
      rows.push(row)
      row = []
    }
  }
  if (row.length > 0) throw new Error('the last line has no end')
  return rows
}
