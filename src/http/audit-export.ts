import type { presentAudit } from './api/audit.ts'
import { csvLine } from './csv.ts'

type Shown = ReturnType<typeof presentAudit>

/** How a trail is written to a file. */
export interface ExportFormat {
  type: string
  extension: string
  /** What stands before all entries. */
  head: string
  /** One entry. */
  line(shown: Shown): string
}

const COLUMNS = [
  'seq',
  'id',
  'type',
  'at',
  'actor_kind',
  'actor_id',
  'actor_address',
  'subject',
  'detail',
  'hash',
] as const

function cellsOf({ seq, id, type, at, actor, subject, detail, hash }: Shown): (string | number)[] {
  const { kind, id: actorId = '', address = '' } = actor
  return [seq, id, type, at, kind, actorId, address, subject, JSON.stringify(detail), hash]
}

/** The formats of `GET /api/v1/account/audit/export`. */
export const EXPORT_FORMATS: Readonly<Record<'ndjson' | 'csv', ExportFormat>> = {
  ndjson: {
    type: 'application/x-ndjson; charset=utf-8',
    extension: 'ndjson',
    head: '',
    // JSON has no line breaks outside of texts, and escapes them there.
    line: (shown) => `${JSON.stringify(shown)}\n`,
  },
  csv: {
    type: 'text/csv; charset=utf-8; header=present',
    extension: 'csv',
    head: csvLine(COLUMNS),
    line: (shown) => csvLine(cellsOf(shown)),
  },
}
