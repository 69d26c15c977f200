import { pathToFileURL } from 'node:url'
import { packagePath } from '../../src/config/package-path.ts'

/** Where a process that has its store, or its files, to itself is killed: at its first write of that field, or before a step. */
export type DeathPoint =
  | {
      collection: string
      field: string
      /** `before`: the store never has it. `after`: the store has it, and the process never learns. */
      side: 'before' | 'after'
    }
  /** 1 = the first file that is opened, written, synced or renamed. */
  | { step: number }

/** The environment of a process that dies there; of one that does not, without a point. */
export function dyingAt(point: DeathPoint | undefined): Record<string, string> {
  if (point === undefined) return {}
  const preload = pathToFileURL(packagePath('test/support/die-at.mjs'))
  return { NODE_OPTIONS: `--import=${preload}`, DIE_AT: JSON.stringify(point) }
}
