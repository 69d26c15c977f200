import { Double, Int32 } from 'bson'
import { encodeBson } from './bson-writer.ts'
import {
  create,
  createIndexes,
  drop,
  dropDatabase,
  dropIndexes,
  listCollections,
  listIndexes,
} from './commands/catalog-commands.ts'
import type { Command, CommandCall, Reply } from './commands/command.ts'
import { CommandFields } from './commands/command-fields.ts'
import { readGenericArguments } from './commands/generic-arguments.ts'
import { aggregate, count, endSessions, find, getMore, killCursors } from './commands/read-commands.ts'
import { authenticate, buildInfo, hello, legacyHello, ping } from './commands/server-commands.ts'
import { findAndModify, insert, remove, update } from './commands/write-commands.ts'
import {
  explainFileError,
  messageOf,
  StoreDamageError,
  StoreFileError,
  StoreGoneError,
} from './engine/file-errors.ts'
import type { Steps } from './engine/slice.ts'
import type { StoreEngine } from './engine/store-engine.ts'
import { countDamage } from './engine/survey.ts'
import { MongoError } from './semantics/mongo-error.ts'
import type { BsonDocument, BsonValue } from './semantics/values.ts'
import type { CommandService } from './wire/connection.ts'

/** Milliseconds between commits while a long command runs, even if no reply waits for one. */
const COMMIT_MS = 250

/** The caller that waits for the reply to a command. */
interface Asker {
  reply: (message: Uint8Array) => void
  /** For a command that only reads: its namespace, and how to run it again when what it has read may be undone. */
  reading?: { namespace: string; again: () => void }
  /** Whether the reply says nothing about stored data, and so waits for no commit. */
  greeting?: boolean
}

/** A command, or the store's own work, that was interrupted at the end of its slice. */
interface Job {
  steps: Steps<Reply>
  asker: Asker
  /** {@link StoreEngine.epoch} when the job began. */
  epoch: number
}

/** Commands that only read and leave nothing behind, so a full disk does not concern them. */
const READS: ReadonlySet<string> = new Set(['find', 'count', 'aggregate'])

/** Commands with which a driver opens a connection, even during a read; if one is refused, the driver drops its pool. */
const GREETINGS: ReadonlySet<string> = new Set(['hello', 'ismaster'])

/**
 * Runs commands on the engine and holds every reply back until what it reports is on disk. While one commit runs, further
 * commands queue in the sockets; they execute together next and share one fsync (group commit). Reads of a collection with
 * uncommitted writes wait as well, so that no client sees a state that a crash could undo; if it is undone, they run
 * again.
 *
 * A long command is interrupted when its slice is over and continues after the others had their turn; interrupted commands
 * alternate, one slice each.
 */
export class SlicedCommandService implements CommandService {
  readonly #engine: StoreEngine
  readonly #interrupted: Job[] = []
  #waiting: ((failure: Uint8Array | undefined) => void)[] = []
  #scheduled: NodeJS.Immediate | undefined
  #committedAt = 0
  #stopped = false
  #refusal: MongoError | undefined
  #damage: StoreDamageError | undefined
  readonly #onDamage: (damage: StoreDamageError) => void

  /** @param onDamage is called once, when nothing is served any more because the file is damaged */
  constructor(engine: StoreEngine, onDamage: (damage: StoreDamageError) => void = () => undefined) {
    this.#engine = engine
    this.#onDamage = onDamage
  }

  run(body: BsonDocument, connectionId: number, reply: (message: Uint8Array) => void): void {
    const refusal = this.#stopped ? shuttingDown() : this.#refusal
    if (refusal !== undefined) {
      reply(this.failure(refusal))
      return
    }
    const [name = ''] = body.keys()
    const again = () => this.#begin(body, connectionId, { reply })
    const reading = { namespace: `${body.get('$db')}.${body.get(name)}`, again }
    const greeting = GREETINGS.has(name)
    this.#begin(body, connectionId, READS.has(name) ? { reply, reading } : { reply, greeting })
  }

  /** Refuses every command from now on if the file was removed or replaced. @returns whether it was */
  refuseIfGone(): boolean {
    const gone = this.#engine.file.gone()
    if (gone !== undefined) this.#refusal = new MongoError(FILE_CODES.disk, gone.message)
    return gone !== undefined
  }

  failure(error: unknown): Uint8Array {
    try {
      return encodeBson(errorReply(error))
    } catch (failure) {
      // The extra fields of an error may already be nested as deep as a document may be.
      if (!(error instanceof MongoError)) throw failure
      return encodeBson(errorReply(new MongoError(error.code, error.message)))
    }
  }

  /** Runs the store's own work, in slices between those of the commands. */
  work(steps: Steps<void>): void {
    if (this.#damage !== undefined) return
    const whole = function* (): Steps<Reply> {
      yield* steps
      return new Map()
    }
    this.#interrupted.push({ steps: whole(), asker: { reply: () => undefined }, epoch: this.#engine.epoch })
    this.#schedule()
  }

  /** Ends interrupted commands, commits, and releases the replies that waited for the commit. */
  stop(): void {
    this.#stopped = true
    clearImmediate(this.#scheduled)
    const failure = this.failure(shuttingDown())
    for (const job of this.#interrupted.splice(0)) this.#afterCommit(failure, job.asker)
    this.#flush()
  }

  #begin(body: BsonDocument, connectionId: number, asker: Asker): void {
    const engine = this.#engine
    if (this.#damage !== undefined && asker.greeting !== true) {
      asker.reply(this.failure(damaged(this.#damage)))
      return
    }
    engine.slice.start()
    this.#guard(asker, () => {
      const result = runCommand(body, { engine, connectionId, now: new Date() })
      if (result instanceof Map) this.#afterCommit(encodeReply(result), asker)
      else this.#advance({ steps: result, asker, epoch: engine.epoch })
    })
  }

  #advance(job: Job): void {
    const engine = this.#engine
    if (job.epoch !== engine.epoch) {
      if (job.asker.reading === undefined)
        throw this.#writeError(engine.undoneBy, 'another one broke off, and this one with it')
      job.asker.reading.again()
      return
    }
    const step = job.steps.next()
    if (step.done === true) this.#afterCommit(encodeReply(step.value), job.asker)
    else this.#interrupted.push(job)
  }

  #guard(asker: Asker, slice: () => void): void {
    try {
      slice()
    } catch (error) {
      const message = this.failure(this.#answerable(error))
      if (this.#damage !== undefined) asker.reply(message)
      // A write that broke off half-way undoes everything uncommitted.
      else if (this.#engine.recover(error)) {
        this.#flush()
        asker.reply(message)
      } else this.#afterCommit(message, asker)
    }
    this.#schedule()
  }

  /** Replies once everything the command has read and written is durable. */
  #afterCommit(message: Uint8Array, { reply, reading, greeting }: Asker): void {
    const engine = this.#engine
    const settled = reading
      ? !engine.unsettled(reading.namespace)
      : !engine.dirty && this.#waiting.length === 0
    if (settled || greeting) reply(message)
    else this.#waiting.push((failure) => (failure && reading ? reading.again() : reply(failure ?? message)))
  }

  #schedule(): void {
    const engine = this.#engine
    if (engine.untidy) {
      engine.untidy = false
      this.work(engine.purge())
    }
    if (this.#stopped || this.#damage !== undefined || this.#scheduled !== undefined) return
    if (this.#interrupted.length === 0 && this.#waiting.length === 0 && !engine.dirty) return
    this.#scheduled = setImmediate(() => this.#turn())
  }

  #turn(): void {
    this.#scheduled = undefined
    const due = this.#interrupted.length === 0 || performance.now() - this.#committedAt > COMMIT_MS
    if (this.#waiting.length > 0 || due) this.#flush()
    const job = this.#interrupted.shift()
    if (job === undefined) return
    this.#engine.slice.start()
    this.#guard(job.asker, () => this.#advance(job))
  }

  /** Commits now and releases the replies that waited for the commit. */
  #flush(): void {
    const waiting = this.#waiting
    this.#waiting = []
    this.#committedAt = performance.now()
    let failure: Uint8Array | undefined
    try {
      this.#engine.commit()
    } catch (error) {
      // The file that lost its name has the writes, which no client may see any more.
      if (error instanceof StoreGoneError) this.refuseIfGone()
      failure = this.failure(this.#writeError(error, messageOf(error)))
    }
    for (const release of waiting) release(failure)
  }

  /** Translates an error of the store's file for the client, with its whole message; returns other errors unchanged. */
  #answerable(error: unknown): unknown {
    const told = explainFileError(error, this.#engine.file.path)
    if (told instanceof StoreDamageError) return damaged(this.#end(told))
    return told instanceof StoreFileError ? new MongoError(FILE_CODES[told.trouble], told.message) : error
  }

  /** Returns why a write was not made durable: the file's error, else `otherwise`. */
  #writeError(error: unknown, otherwise: string): MongoError {
    const told = this.#answerable(error)
    return told instanceof MongoError
      ? told
      : new MongoError(1, `the write could not be made durable: ${otherwise}`)
  }

  /** Ends the service of a damaged file: nothing more is read from it, and nothing that was not committed is written. */
  #end(damage: StoreDamageError): StoreDamageError {
    if (this.#damage !== undefined) return this.#damage
    const { file } = this.#engine
    try {
      file.rollback()
    } catch {
      // The next start undoes what was not committed.
    }
    file.opened.distrust()
    this.#damage = countDamage(damage, file)
    const failure = this.failure(damaged(this.#damage))
    for (const { asker } of this.#interrupted.splice(0)) asker.reply(failure)
    for (const release of this.#waiting.splice(0)) release(failure)
    this.#onDamage(this.#damage)
    return this.#damage
  }
}

/** DataCorruptionDetected */
function damaged({ message }: StoreDamageError): MongoError {
  return new MongoError(366, message)
}

function shuttingDown(): MongoError {
  return new MongoError(11600, 'the store is shutting down')
}

const FILE_CODES = { full: 14031, disk: 39, file: 1 } as const

/** Every command the store has. Anything else is 59 CommandNotFound. */
const commandTable: ReadonlyMap<string, Command> = new Map([
  ['hello', hello],
  ['ismaster', legacyHello],
  ['ping', ping],
  ['saslStart', authenticate],
  ['authenticate', authenticate],
  ['buildInfo', buildInfo],
  ['create', create],
  ['createIndexes', createIndexes],
  ['listIndexes', listIndexes],
  ['dropIndexes', dropIndexes],
  ['listCollections', listCollections],
  ['insert', insert],
  ['find', find],
  ['getMore', getMore],
  ['killCursors', killCursors],
  ['aggregate', aggregate],
  ['count', count],
  ['update', update],
  ['delete', remove],
  ['findAndModify', findAndModify],
  ['drop', drop],
  ['dropDatabase', dropDatabase],
  ['endSessions', endSessions],
])

/**
 * Looks the command up in the closed table, checks every field name and begins it.
 * @throws MongoError 59 for a command that is not in the table, else what the command throws
 */
function runCommand(
  body: BsonDocument,
  context: Pick<CommandCall, 'engine' | 'connectionId' | 'now'>,
): Reply | Steps<Reply> {
  const [name] = body.keys()
  const command = name === undefined ? undefined : commandTable.get(name)
  if (name === undefined || command === undefined) {
    throw new MongoError(
      59,
      `no such command: '${name ?? ''}' (its README lists those of the embedded store)`,
    )
  }
  return command.run({
    ...context,
    ...readGenericArguments(name, body),
    command: name,
    fields: new CommandFields(name, body, command.fields === 'any' ? undefined : command.fields, true),
  })
}

function encodeReply(reply: Reply): Uint8Array {
  return encodeBson(reply.set('ok', new Double(1)))
}

/** The reply of a failed command: `ok: 0`, message, code, code name and any extra fields. */
function errorReply(error: unknown): BsonDocument {
  return new Map<string, BsonValue>([['ok', new Double(0)], ...errorFields(error)])
}

function errorFields(error: unknown): [string, BsonValue][] {
  if (!(error instanceof MongoError)) {
    // A defect of ours. Its text may quote data, so the client learns only its kind.
    const kind = error instanceof Error ? error.name : typeof error
    return errorFields(new MongoError(1, `internal error (${kind})`))
  }
  return [
    ['errmsg', error.message],
    ['code', new Int32(error.code)],
    ['codeName', error.codeName],
    ...error.extra,
  ]
}
