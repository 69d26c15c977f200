import { createHash } from 'node:crypto'
import { kindOf } from '../../domain/likeness.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import type { Migration } from './migration.ts'

/** Returns the hash under which requests of a kind are found: of 128 bits, since the index has it once for each. */
export function kindSha256(kind: string): string {
  return createHash('sha256').update(kind).digest('hex').slice(0, 32)
}

type DecidedRow = { _id: string } & Pick<ApprovalRequest, 'api_key_id' | 'context_json' | 'sandbox'>

/** Requests that people decided and whose texts are there. */
const DECIDED = {
  status: { $in: ['approved', 'rejected'] },
  sandbox: false,
  kind_sha256: null,
  erased_at: null,
}

/** Read and written at once. */
const SLICE = 500

/** Requests that were decided under a schema version before 16 have no kind: all would count as the first of theirs. */
export const noteKinds: Migration = {
  version: 16,
  title: 'notes on decided requests of which kind they are',
  count: (connection) => connection.collection('requests').countDocuments(DECIDED),
  async run(connection, onProgress) {
    const requests = connection.collection<DecidedRow>('requests')
    const projection = { api_key_id: 1, context_json: 1, sandbox: 1 }
    let done = 0
    for (let after = ''; ; ) {
      const slice = requests.find({ ...DECIDED, _id: { $gt: after } }, { projection, batchSize: SLICE + 1 })
      const rows = await slice.sort({ _id: 1 }).limit(SLICE).toArray()
      const writes = rows.flatMap((row) => {
        const kind = kindOf(row)
        if (kind === undefined) return []
        const update = { $set: { kind_sha256: kindSha256(kind) } }
        return [{ updateOne: { filter: { _id: row._id, erased_at: null }, update } }]
      })
      if (writes.length > 0) await requests.bulkWrite(writes, { ordered: false })
      const last = rows.at(-1)
      if (last === undefined) return
      after = last._id
      done += rows.length
      onProgress(done)
    }
  },
}
