import { type Model, mongo } from 'mongoose'
import type { StoreConnection } from './connect.ts'
import { damageTold } from './failures.ts'

/** `most`: asks per command. `alone`: if a command meets damage, each ask is sent alone, so that the others get an answer. */
interface Sharing {
  most?: number
  alone?: boolean
}

interface Waiting<Ask, Answer> {
  ask: Ask
  resolve: (answer: Answer) => void
  reject: (error: unknown) => void
}

/** A command that takes longer may never return, because its connection is dead without notice. */
const STUCK_MS = 500

/**
 * Lets concurrent asks share one command (a "trip"). Nothing is cached: a command is always sent after its asks were made, so
 * it sees every write acknowledged before them. While a command is under way, further asks wait for the next one, so trips
 * grow as the store slows down, and a lone ask goes at once. A stuck command holds up only the asks it carries.
 * @param trip answers in the order of the asks; when it throws, every ask of the trip fails with that error
 */
export function shareTrips<Ask, Answer>(
  trip: (asks: readonly Ask[]) => Promise<readonly Answer[]>,
  { most = 128, alone = false }: Sharing = {},
): (ask: Ask) => Promise<Answer> {
  const waiting: Waiting<Ask, Answer>[] = []
  let newest: { since: number } | undefined
  const travel = async (traveller: { since: number }): Promise<void> => {
    while (waiting.length > 0) {
      traveller.since = performance.now()
      await answer(waiting.splice(0, most), trip, alone)
    }
    if (newest === traveller) newest = undefined
  }
  return (ask) =>
    new Promise((resolve, reject) => {
      waiting.push({ ask, resolve, reject })
      const now = performance.now()
      if (newest !== undefined && now - newest.since < STUCK_MS) return
      const traveller = { since: now }
      newest = traveller
      // All asks made in this turn of the event loop go together.
      setImmediate(travel, traveller)
    })
}

async function answer<Ask, Answer>(
  batch: readonly Waiting<Ask, Answer>[],
  trip: (asks: readonly Ask[]) => Promise<readonly Answer[]>,
  alone: boolean,
): Promise<void> {
  try {
    const answers = await trip(batch.map(({ ask }) => ask))
    for (const [index, { resolve, reject }] of batch.entries()) {
      const mine = answers[index]
      if (mine === undefined) reject(new Error('a shared trip came back without an answer'))
      else resolve(mine)
    }
  } catch (error) {
    const isShared = new Set(batch.map(({ ask }) => ask)).size > 1
    if (alone && isShared && damageTold(error) !== undefined)
      await Promise.all(batch.map((one) => answer([one], trip, alone)))
    else for (const { reject } of batch) reject(error)
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
  const look = shareTrips(find, { alone: true })
  // A value of another type would be an operator, or match documents without the field (T61, T62).
  return async (value) => (await look(String(value))).document
}

/** The outcome of one write of a shared command: done, refused because its unique key is taken, or failed with an error. */
export type Outcome = 'done' | 'taken' | Error

/** Inserts by shared commands, on the driver: input was parsed where it came in. @returns false when the key is taken */
export function createInserter<Document extends mongo.Document>({
  collection,
}: Model<Document>): (document: Document) => Promise<boolean> {
  const insert = shareTrips((documents: readonly Document[]) =>
    outcomesOf(documents.length, () =>
      collection.insertMany([...documents], { ordered: false, ignoreUndefined: true }),
    ),
  )
  return async (document) => settled(await insert(document))
}

/** A conditional upsert. When its condition does not hold, it fails on the `_id` of the existing document. */
export interface Upsert {
  filter: { _id: string } & mongo.Document
  update: mongo.Document
}

/** What one caller takes: `last` is taken only once all of `first` are. */
export interface Takings<Taking> {
  first: readonly Taking[]
  last: Taking
}

/**
 * Takes from counters that many callers use at once: all takings from one counter share a conditional upsert, and all
 * counters share a command. If a counter has no room for all of its takings, each is tried with a condition of its own, so
 * nothing is taken over the limit or refused below it.
 * @param counterOf names the counter of a taking
 * @param take builds the upsert that takes all these or none; undefined when there can never be room for so many
 * @returns a function that returns the refused takings: none, some of `first`, or `last`
 */
export function createTaker<Taking>(
  connection: StoreConnection,
  collectionName: string,
  counterOf: (taking: Taking) => string,
  take: (takings: Group<Taking>) => Upsert | undefined,
): (takings: Takings<Taking>) => Promise<readonly Taking[]> {
  const collection = connection.collection<{ _id: string }>(collectionName)
  const upsert = async (upserts: readonly (Upsert | undefined)[], ordered: boolean): Promise<Outcome[]> => {
    const operations = upserts.flatMap((one) => (one ? [{ updateOne: { ...one, upsert: true } }] : []))
    const outcomes = await outcomesOf(operations.length, () => collection.bulkWrite(operations, { ordered }))
    return upserts.map((one) => (one && outcomes.shift()) ?? 'taken')
  }
  /** Stops at the first refused group: nothing after it is taken. */
  const takeInOrder = async (groups: readonly Group<Taking>[]): Promise<Outcome[]> => {
    const upserts = groups.map(take)
    const never = upserts.indexOf(undefined)
    const outcomes = await upsert(never < 0 ? upserts : upserts.slice(0, never), true)
    const refused = outcomes.findIndex((outcome) => outcome !== 'done')
    return refused < 0 ? outcomes : outcomes.slice(0, refused)
  }
  const takeEach = async (takings: readonly Taking[], outcomes: Map<Taking, Outcome>): Promise<void> => {
    let groups: Group<Taking>[] = groupsOf(takings, counterOf)
    // The single takings get two rounds: when two of them create a counter at once, one is refused.
    for (let attempt = 0; attempt < 3 && groups.length > 0; attempt += 1) {
      // An error fails only these takings: other callers keep what they have taken by then.
      const results = await upsert(groups.map(take), false).catch((error: unknown) =>
        groups.map(() => asError(error)),
      )
      note(outcomes, groups, results)
      groups = takings.filter((taking) => outcomes.get(taking) === 'taken').map((taking) => [taking])
    }
  }
  const takeShared = shareTrips(async (asks: readonly Takings<Taking>[]) => {
    const outcomes = new Map<Taking, Outcome>()
    const all = [asks.flatMap(({ first }) => first), asks.map(({ last }) => last)] as const
    const groups = all.flatMap((takings) => groupsOf(takings, counterOf))
    note(outcomes, groups, await takeInOrder(groups))
    const open = (taking: Taking): boolean => outcomes.get(taking) !== 'done'
    await takeEach(all[0].filter(open), outcomes)
    const able = asks.filter(({ first }) => !first.some(open))
    await takeEach(able.map(({ last }) => last).filter(open), outcomes)
    return asks.map(({ first, last }) =>
      (first.some(open) ? first : [last]).map((one) => [one, outcomes.get(one)] as const),
    )
  })
  return async (takings) =>
    (await takeShared(takings)).flatMap(([taking, outcome = 'taken']) => (settled(outcome) ? [] : [taking]))
}

function note<Taking>(
  outcomes: Map<Taking, Outcome>,
  groups: readonly Group<Taking>[],
  results: readonly Outcome[],
): void {
  for (const [index, group] of groups.entries())
    for (const taking of group) outcomes.set(taking, results[index] ?? 'taken')
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

/** All takings from one counter. */
type Group<Taking> = readonly [Taking, ...Taking[]]

function groupsOf<Taking>(
  takings: readonly Taking[],
  counterOf: (taking: Taking) => string,
): Group<Taking>[] {
  const groups = new Map<string, [Taking, ...Taking[]]>()
  for (const taking of takings) {
    const group = groups.get(counterOf(taking))
    if (group === undefined) groups.set(counterOf(taking), [taking])
    else group.push(taking)
  }
  return [...groups.values()]
}

/** @returns whether the write was done @throws the outcome when it is an error */
export function settled(outcome: Outcome): boolean {
  if (outcome instanceof Error) throw outcome
  return outcome === 'done'
}

/** Returns the outcome of each write of a bulk write. @throws an error that concerns the whole command */
export async function outcomesOf(count: number, write: () => Promise<unknown>): Promise<Outcome[]> {
  const outcomes: Outcome[] = Array.from({ length: count }, () => 'done')
  if (count === 0) return outcomes
  try {
    await write()
  } catch (error) {
    const failures = failuresOf(error)
    for (const { index, code, errmsg } of failures)
      outcomes[index] = code === DUPLICATE_KEY ? 'taken' : Object.assign(new Error(errmsg), { code })
  }
  return outcomes
}

/**
 * Returns the single writes that a bulk write reports as refused. The driver wraps an error that ends the whole command in the
 * same class, without any write in it: then the outcome of every write is unknown.
 * @throws an error that concerns the whole command
 */
export function failuresOf(error: unknown): readonly mongo.WriteError[] {
  if (!(error instanceof mongo.MongoBulkWriteError)) throw error
  const failures = [error.writeErrors].flat()
  if (failures.length > 0 && error.result.getWriteConcernError() === undefined) return failures
  const cause: unknown = error.errorResponse
  throw cause instanceof Error ? cause : error
}

/** MongoDB's code for a second document with the same unique key. */
const DUPLICATE_KEY = 11000
