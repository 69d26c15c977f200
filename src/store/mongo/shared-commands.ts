import type { Model, mongo } from 'mongoose'
import { outcomesOf, wasDone } from './bulk-writes.ts'

interface Waiting<Ask, Answer> {
  ask: Ask
  resolve: (answer: Answer) => void
  reject: (error: unknown) => void
}

/** A command that takes longer may never return, because its connection is dead without notice. */
const STUCK_MS = 500

/**
 * Lets concurrent asks share one command. Nothing is cached: a command is always sent after its asks were made, so
 * it sees every write acknowledged before them. While a command is under way, further asks wait for the next one, so commands
 * grow as the store slows down, and a lone ask goes at once. A stuck command holds up only the asks it carries.
 * @param most asks per command
 * @param send answers in the order of the asks; when it throws, every ask of the command fails with that error
 */
export function shareCommands<Ask, Answer>(
  send: (asks: readonly Ask[]) => Promise<readonly Answer[]>,
  { most = 128 }: { most?: number } = {},
): (ask: Ask) => Promise<Answer> {
  const waiting: Waiting<Ask, Answer>[] = []
  /** The run that took up asks last; another begins beside it when its command is stuck. */
  let newest: { since: number } | undefined
  const run = async (runner: { since: number }): Promise<void> => {
    while (waiting.length > 0) {
      runner.since = performance.now()
      await answer(waiting.splice(0, most), send)
    }
    if (newest === runner) newest = undefined
  }
  return (ask) =>
    new Promise((resolve, reject) => {
      waiting.push({ ask, resolve, reject })
      const now = performance.now()
      if (newest !== undefined && now - newest.since < STUCK_MS) return
      const runner = { since: now }
      newest = runner
      // All asks made in this turn of the event loop go together.
      setImmediate(run, runner)
    })
}

async function answer<Ask, Answer>(
  batch: readonly Waiting<Ask, Answer>[],
  send: (asks: readonly Ask[]) => Promise<readonly Answer[]>,
): Promise<void> {
  try {
    const answers = await send(batch.map(({ ask }) => ask))
    for (const [index, { resolve, reject }] of batch.entries()) {
      const mine = answers[index]
      if (mine === undefined) reject(new Error('a shared command returned no answer to one of its asks'))
      else resolve(mine)
    }
  } catch (error) {
    for (const { reject } of batch) reject(error)
  }
}

/** Looks documents up by a unique field, by shared commands. On the driver: a read of plain documents needs no model. */
export function createLookup<Document extends object>(
  { collection }: Model<Document>,
  { field = '_id', only = {} }: { field?: string; only?: object } = {},
): (value: string) => Promise<Document | undefined> {
  const find = async (values: readonly string[]) => {
    const wanted = [...new Set(values)]
    const filter = { ...only, [field]: wanted.length === 1 ? wanted[0] : { $in: wanted } }
    const found = await collection.find<Document>(filter, { batchSize: wanted.length + 1 }).toArray()
    const byValue = new Map(found.map((document) => [String(Reflect.get(document, field)), document]))
    return values.map((value) => ({ document: byValue.get(value) }))
  }
  const look = shareCommands(find)
  // A value of another type would be an operator, or match documents without the field (T61, T62).
  return async (value) => (await look(String(value))).document
}

/** Inserts by shared commands, on the driver: input was parsed where it came in. @returns false when the key is taken */
export function createInserter<Document extends mongo.Document>({
  collection,
}: Model<Document>): (document: Document) => Promise<boolean> {
  const insert = shareCommands((documents: readonly Document[]) =>
    outcomesOf(documents.length, () =>
      collection.insertMany([...documents], { ordered: false, ignoreUndefined: true }),
    ),
  )
  return async (document) => wasDone(await insert(document))
}
