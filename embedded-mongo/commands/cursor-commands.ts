import { Int32, Long } from 'bson'
import { MongoError } from '../semantics/mongo-error.ts'
import { type BsonValue, isDocument, isNumber } from '../semantics/values.ts'
import { type Command, type CommandCall, namespaceOf } from './command.ts'
import { CursorReply } from './cursor-reply.ts'
import { sessionId } from './generic-arguments.ts'

export const getMore: Command = {
  fields: new Set(['getMore', 'collection', 'batchSize']),
  run(call) {
    const id = cursorId(call.fields.required('getMore', call.fields.raw('getMore')))
    const request = {
      namespace: namespaceOf(call, 'collection'),
      session: call.session,
      batchSize: call.fields.count('batchSize'),
    }
    return new CursorReply(call.engine.cursors.getMore(id, request, call.now.getTime()))
  },
}

export const killCursors: Command = {
  fields: new Set(['killCursors', 'cursors']),
  run(call) {
    const namespace = namespaceOf(call, 'killCursors')
    const ids = call.fields.required('cursors', call.fields.array('cursors'))
    const killed: BsonValue[] = []
    const unknown: BsonValue[] = []
    for (const id of ids) {
      if (call.engine.cursors.kill(cursorId(id), namespace)) killed.push(id)
      else unknown.push(id)
    }
    return new Map<string, BsonValue>([
      ['cursorsKilled', killed],
      ['cursorsNotFound', unknown],
      ['cursorsAlive', []],
      ['cursorsUnknown', []],
    ])
  },
}

/** A session holds nothing here but its cursors. */
export const endSessions: Command = {
  fields: new Set(['endSessions']),
  run(call: CommandCall) {
    const sessions = call.fields.required('endSessions', call.fields.array('endSessions'))
    for (const session of sessions) {
      if (!isDocument(session)) {
        throw new MongoError(14, "BSON field 'endSessions.endSessions' must hold session documents")
      }
      call.engine.cursors.killSession(sessionId(session))
    }
    return new Map()
  },
}

function cursorId(value: BsonValue): Long {
  if (isNumber(value) && value._bsontype === 'Long') return value
  if (value instanceof Int32) return Long.fromInt(value.value)
  throw new MongoError(14, "BSON field 'getMore.getMore' is the wrong type, expected type 'long'")
}
