import { encodeBson } from './bson-writer.ts'
import { errorReply } from './commands/error-reply.ts'
import { runCommand } from './commands/run-command.ts'
import type { StoreEngine } from './engine/store-engine.ts'
import { MongoError } from './semantics/mongo-error.ts'
import type { BsonDocument } from './semantics/values.ts'
import type { CommandService } from './wire/connection.ts'

/**
 * Runs commands on the engine and holds every reply back until what it reports is on disk. While one
 * commit runs, further commands queue in the sockets; they execute together next and share one fsync.
 * Reads that ran after an uncommitted write wait as well: nobody is told of a state a crash could undo.
 */
export class DurableCommandService implements CommandService {
  readonly #engine: StoreEngine
  #waiting: ((failure: Uint8Array | undefined) => void)[] = []
  #scheduled = false

  constructor(engine: StoreEngine) {
    this.#engine = engine
  }

  run(body: BsonDocument, connectionId: number): Uint8Array {
    try {
      return runCommand(body, { engine: this.#engine, connectionId, now: new Date() })
    } catch (error) {
      // A defect of ours: what it left half done in memory is not trusted.
      if (!(error instanceof MongoError)) this.#engine.recover()
      return this.failure(error)
    }
  }

  failure(error: unknown): Uint8Array {
    return encodeBson(errorReply(error))
  }

  afterCommit(callback: (failure: Uint8Array | undefined) => void): void {
    if (!this.#engine.dirty && this.#waiting.length === 0) {
      callback(undefined)
      return
    }
    this.#waiting.push(callback)
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.flush())
  }

  /** Commits now and releases the replies that waited for it. */
  flush(): void {
    this.#scheduled = false
    const waiting = this.#waiting
    this.#waiting = []
    let failure: Uint8Array | undefined
    try {
      this.#engine.commit()
    } catch (error) {
      failure = this.failure(storageError(error))
    }
    for (const release of waiting) release(failure)
  }
}

function storageError(error: unknown): MongoError {
  const message = error instanceof Error ? error.message : String(error)
  const full = error instanceof Error && 'code' in error && error.code === 'SQLITE_FULL'
  return new MongoError(full ? 14031 : 1, `the write could not be made durable: ${message}`)
}
