import { visibleString } from '../domain/text.ts'

/** Lines up columns. Cells may hold what others typed, so nothing in them reaches the terminal as a control character. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows].map((row) => row.map(oneLine))
  const widths = head.map((_, column) => Math.max(...lines.map((row) => row[column]?.length ?? 0)))
  return lines
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** One text on one line, with hidden and control characters shown by name. */
export function oneLine(text: string): string {
  return visibleString(text).replace(/[\n\t]+/g, ' ')
}
