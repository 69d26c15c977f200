import type { OnProgress } from '../../store/archive/write-archive.ts'
import { inJson, terminal } from '../terminal.ts'

const EVERY_MS = 200

/** Shows on a terminal, on one line of stderr, how far a command is. */
export function createProgress(): { show(what: string): OnProgress; end(): void } {
  const { stderr } = terminal()
  const shown = stderr === process.stderr && process.stderr.isTTY && !inJson()
  let told = 0
  let width = 0
  const write = (text: string): void => {
    stderr.write(`\r${text.padEnd(width)}`)
    width = text.length
  }
  return {
    show:
      (what) =>
      ({ collection, documents, of }) => {
        if (!shown || (documents < of && performance.now() - told < EVERY_MS)) return
        told = performance.now()
        write(
          `${what} ${collection}: ${documents.toLocaleString('en')} of ${of.toLocaleString('en')} documents`,
        )
      },
    end(): void {
      if (width > 0) write('')
      if (width > 0) stderr.write('\r')
    },
  }
}
