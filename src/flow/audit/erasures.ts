import { AUDIT_TYPES, type AuditEntry, type AuditType } from '../../domain/audit.ts'

/** The subject of entries about a stretch of the trail that grew too old. */
export const TRAIL = 'audit_log'

/** Entries that are never erased: they say what else was. */
export const KEPT_TYPES: readonly AuditType[] = [
  'audit.erased',
  'approval.erased',
  'approval.deleted',
  'user.erased',
]

/** What an entry `audit.erased` says: the records, and of a single one what it was about, or of a stretch how old all of it was. */
export type Erased =
  | { from: number; to: number; before: Date }
  | { from: number; to: number; type: AuditType; subject: string }

/** Reads an entry `audit.erased`; undefined for any other entry. */
export function readErased({ type, subject, detail = {} }: AuditEntry): Erased | undefined {
  if (type !== 'audit.erased') return undefined
  const { from, to, before, seq, of } = detail
  if (subject === TRAIL) {
    if (typeof from !== 'number' || typeof to !== 'number') return undefined
    return { from, to, before: new Date(String(before)) }
  }
  const known = AUDIT_TYPES.find((one) => one === of)
  if (typeof seq !== 'number' || known === undefined) return undefined
  return { from: seq, to: seq, type: known, subject }
}

/** Collects which records are erased, and for which of them an entry says so. Neighbours take one place together. */
export function createErasures() {
  const erased: { from: number; to: number }[] = []
  const told: { from: number; to: number }[] = []
  let before = new Date(0)
  return {
    add(seq: number): void {
      const last = erased.at(-1)
      if (last?.to === seq - 1) last.to = seq
      else erased.push({ from: seq, to: seq })
    },
    tell(said: Erased): void {
      const last = told.at(-1)
      if (last?.to === said.from - 1) last.to = said.to
      else told.push({ from: said.from, to: said.to })
      if ('before' in said && said.before > before) before = said.before
    },
    /** Before that time, the trail no longer has what it once said. */
    before: () => before,
    /** Yields the numbers of erased records that no entry accounts for. */
    *untold(): Iterable<number> {
      const ranges = told.sort((a, b) => a.from - b.from)
      let next = 0
      for (const { from, to } of erased) {
        for (let seq = from; seq <= to; seq += 1) {
          // Ranges may overlap: one that ends earlier may stand behind a longer one, but never covers what that one does not.
          while (next < ranges.length && (ranges[next]?.to ?? 0) < seq) next += 1
          const range = ranges[next]
          if (range === undefined || range.from > seq) yield seq
          else seq = Math.min(range.to, to)
        }
      }
    },
  }
}
