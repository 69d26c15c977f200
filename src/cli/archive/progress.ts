import type { OnProgress } from '../../store/archive/write-archive.ts'
import { inJson, terminal } from '../terminal.ts'

const EVERY_MS = 200

/** What shows how far a command is. */
export interface Progress {
  /** @param what the command does: “Exporting” */
  show(what: string): OnProgress
}

/** Shows on a terminal, on one line of stderr, how far the work is; the line is gone when the work ends. */
export async function withProgress<Result>(work: (progress: Progress) => Promise<Result>): Promise<Result> {
  const { stderr } = terminal()
  const shown = stderr === process.stderr && process.stderr.isTTY && !inJson()
  let told = 0
  let width = 0
  const write = (text: string): void => {
    stderr.write(`\r${text.padEnd(width)}`)
    width = text.length
  }
  const show =
    (what: string): OnProgress =>
    ({ collection, documents, of }) => {
      if (!shown || (documents < of && performance.now() - told < EVERY_MS)) return
      told = performance.now()
      write(
        `${what} ${collection}: ${documents.toLocaleString('en')} of ${of.toLocaleString('en')} documents`,
      )
    }
  try {
    return await work({ show })
  } finally {
    if (width > 0) write('')
    if (shown) stderr.write('\r')
  }
}
