import { aggregate } from './aggregate.ts'
import { create, drop, dropDatabase, listCollections, listDatabases } from './catalog-commands.ts'
import type { Command } from './command.ts'
import { count, distinct } from './count-distinct.ts'
import { endSessions, getMore, killCursors } from './cursor-commands.ts'
import { remove } from './delete.ts'
import { find } from './find.ts'
import { findAndModify } from './find-and-modify.ts'
import { createIndexes, dropIndexes, listIndexes } from './index-commands.ts'
import { insert } from './insert.ts'
import { buildInfo, hello, legacyHello, ping } from './server-commands.ts'
import { update } from './update.ts'

/** Every command the store has. Anything else is 59 CommandNotFound. */
export const commandTable: ReadonlyMap<string, Command> = new Map([
  ['hello', hello],
  ['isMaster', legacyHello],
  ['ismaster', legacyHello],
  ['ping', ping],
  ['buildInfo', buildInfo],
  ['buildinfo', buildInfo],
  ['create', create],
  ['createIndexes', createIndexes],
  ['listIndexes', listIndexes],
  ['dropIndexes', dropIndexes],
  ['listCollections', listCollections],
  ['listDatabases', listDatabases],
  ['insert', insert],
  ['find', find],
  ['getMore', getMore],
  ['killCursors', killCursors],
  ['aggregate', aggregate],
  ['count', count],
  ['distinct', distinct],
  ['update', update],
  ['delete', remove],
  ['findAndModify', findAndModify],
  ['findandmodify', findAndModify],
  ['drop', drop],
  ['dropDatabase', dropDatabase],
  ['endSessions', endSessions],
])
