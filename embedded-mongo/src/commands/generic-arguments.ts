import { Binary } from 'bson'
import { MongoError } from '../semantics/mongo-error.ts'
import type { BsonDocument } from '../semantics/values.ts'
import type { CommandCall } from './command.ts'
import { CommandFields, integerOf, STABLE_API } from './command-fields.ts'

const ID = new Set(['id'])
const LEVEL = new Set(['level'])
const MODE = new Set(['mode'])
const WRITE_CONCERN = new Set(['w', 'j', 'wtimeout', 'fsync'])
const READ_CONCERNS = new Set(['local', 'available', 'majority'])
const READ_PREFERENCES = new Set([
  'primary',
  'primaryPreferred',
  'secondary',
  'secondaryPreferred',
  'nearest',
])

/**
 * Reads `$db`, `lsid`, `maxTimeMS`, concerns and the transaction fields. A single node that answers after
 * fsync meets every concern it accepts; it refuses those it cannot promise: transactions with 20, the Stable
 * API with 238, `w` above 1 with 2, snapshot and linearizable reads with 72.
 * @throws MongoError
 */
export function readGenericArguments(
  name: string,
  body: BsonDocument,
): Pick<CommandCall, 'database' | 'session' | 'deadline'> {
  refuseTransactions(body)
  refuseStableApi(body)
  const fields = new CommandFields(name, body)
  checkReadConcern(fields.document('readConcern'))
  checkWriteConcern(fields.document('writeConcern'))
  checkReadPreference(fields.document('$readPreference'))
  const database = fields.text('$db')
  if (database === undefined) {
    throw new MongoError(40571, 'OP_MSG requests require a $db argument')
  }
  checkDatabaseName(database)
  const lsid = fields.document('lsid')
  const session = lsid && sessionId(lsid)
  // 0 means no limit.
  const maxTimeMs = fields.count('maxTimeMS') || undefined
  return { database, session, deadline: maxTimeMs && performance.now() + maxTimeMs }
}

/** Returns the hexadecimal id of a logical session document. @throws MongoError 14, 40414 or 40415 */
export function sessionId(lsid: BsonDocument): string {
  const fields = new CommandFields('lsid', lsid, ID)
  const id = fields.required('id', fields.raw('id'))
  if (!(id instanceof Binary) || id.sub_type !== Binary.SUBTYPE_UUID || id.position !== 16) {
    throw new MongoError(14, "BSON field 'lsid.id' is the wrong type, expected type 'uuid'")
  }
  return Buffer.from(id.value()).toString('hex')
}

function refuseTransactions(body: BsonDocument): void {
  if (!body.has('txnNumber') && !body.has('startTransaction') && !body.has('autocommit')) return
  throw new MongoError(20, 'Transaction numbers are only allowed on a replica set member or mongos')
}

function refuseStableApi(body: BsonDocument): void {
  const field = STABLE_API.find((name) => body.has(name))
  if (field === undefined) return
  throw new MongoError(
    238,
    `'${field}' is not supported by the embedded store: connect without serverApi in the client's options`,
  )
}

function checkReadConcern(concern: BsonDocument | undefined): void {
  if (concern === undefined) return
  const level = new CommandFields('readConcern', concern, LEVEL).text('level')
  if (level === undefined || READ_CONCERNS.has(level)) return
  throw new MongoError(72, `read concern level '${level}' is not supported by the embedded store`)
}

function checkWriteConcern(concern: BsonDocument | undefined): void {
  if (concern === undefined) return
  const fields = new CommandFields('writeConcern', concern, WRITE_CONCERN)
  fields.flag('j')
  fields.flag('fsync')
  fields.count('wtimeout')
  const w = fields.raw('w')
  if (w === undefined || w === 'majority') return
  const members = integerOf(w)
  if (members === 0 || members === 1) return
  if (members !== undefined) {
    throw new MongoError(2, "cannot use 'w' > 1 when a host is not replicated")
  }
  throw new MongoError(79, 'No write concern mode with that name is known')
}

function checkReadPreference(preference: BsonDocument | undefined): void {
  if (preference === undefined) return
  const mode = new CommandFields('$readPreference', preference, MODE).text('mode')
  if (mode !== undefined && READ_PREFERENCES.has(mode)) return
  throw new MongoError(9, `Could not parse $readPreference mode '${mode ?? ''}'`)
}

function checkDatabaseName(name: string): void {
  if (name.length > 0 && Buffer.byteLength(name) <= 63 && !/[\0/\\. "$]/.test(name)) return
  throw new MongoError(73, `Invalid database name: '${name}'`)
}
