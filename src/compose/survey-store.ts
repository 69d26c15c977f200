import { statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { Gauge, type Registry } from 'prom-client'
import type { Config } from '../config/config.ts'
import type { BuildInfo } from '../config/package-path.ts'
import type { FlowDeps } from '../flow/deps.ts'
import { within } from '../ports/within.ts'
import { createFigures, type Figures, type StoreSize } from '../store/figures.ts'
import { ping, type StoreConnection } from '../store/mongo/connect.ts'
import type { TimeWatch } from './watch-time.ts'

/** What the metrics read besides the stores. */
export interface MetricsParts {
  config: Pick<Config, 'mongodbUri' | 'dataDir'>
  connection: StoreConnection
  time: TimeWatch
  build: BuildInfo
}

/** The sources that are read each time the metrics are asked for. */
type Read = Pick<
  FlowDeps,
  'deliveries' | 'pushes' | 'cards' | 'requests' | 'accounts' | 'outbox' | 'chats' | 'clock'
>

/** Gauges that ask the store at each scrape, and so are the same from every process; NaN while it does not answer. */
export function surveyStore(registers: Registry[], read: Read, parts: MetricsParts): void {
  const figures = createFigures(parts.connection)
  const add = (name: string, help: string, look: () => Promise<number>): void => {
    new Gauge({
      name: `countersign_${name}`,
      help,
      registers,
      async collect() {
        this.set((await soon(look())) ?? Number.NaN)
      },
    })
  }
  add(
    'store_ping_seconds',
    'Seconds that a ping of the store takes; NaN while it does not answer.',
    async () => {
      const started = performance.now()
      await ping(parts.connection)
      return (performance.now() - started) / 1000
    },
  )
  const { clock } = read
  add('requests_pending', 'Pending requests, dry runs among them; counted up to 10000.', () =>
    figures.pending(clock.now()),
  )
  add(
    'oldest_pending_seconds',
    'Age of the oldest pending request, of the 100 that expire first; 0: none.',
    async () => ageOf(await figures.oldestPending(clock.now()), clock),
  )
  add(
    'dead_letters',
    'Callbacks and webhook events that were given up and not sent again; counted up to 10000.',
    () => figures.deadLetters(),
  )
  add('audit_lag_seconds', 'Age of the oldest audit entry that is not sealed yet; 0: none waits.', () =>
    auditLag(read),
  )
  addQueues(registers, read, figures)
  addChats(registers, read)
  addSize(add, sizeOf(parts, figures))
}

/** Adds gauges with a value for each label, which are looked up side by side. */
function addEach(
  registers: Registry[],
  about: { name: string; help: string; label: string },
  looks: Readonly<Record<string, () => Promise<number>>>,
): void {
  new Gauge({
    name: `countersign_${about.name}`,
    help: about.help,
    labelNames: [about.label],
    registers,
    async collect() {
      const all = Object.entries(looks).map(async ([value, look]) =>
        this.set({ [about.label]: value }, (await soon(look())) ?? Number.NaN),
      )
      await Promise.all(all)
    },
  })
}

function addQueues(registers: Registry[], read: Read, figures: Figures): void {
  const platforms = read.chats.map(({ platform }) => platform)
  const due = {
    callbacks: () => read.deliveries.nextDue(),
    pushes: () => read.pushes.nextDue(),
    cards: async () => (platforms.length === 0 ? undefined : read.cards.nextDue(platforms)),
    expiry: () => read.requests.nextExpiry(),
  }
  const late = Object.entries(due).map(
    ([queue, next]) => [queue, async () => ageOf(await next(), read.clock)] as const,
  )
  addEach(
    registers,
    {
      name: 'late_seconds',
      help: 'Age of the oldest due item, by queue; 0: nothing is late.',
      label: 'queue',
    },
    Object.fromEntries(late),
  )
  const help = 'Items that are not sent yet, also those that wait for their next try; counted up to 1000.'
  addEach(
    registers,
    { name: 'queue_items', help, label: 'queue' },
    {
      callbacks: () => figures.unsent('deliveries'),
      pushes: () => figures.unsent('pushes'),
      cards: () => figures.unsent('cards'),
    },
  )
}

function addChats(registers: Registry[], { chats, accounts }: Read): void {
  const help = 'Workspaces and channels that take no cards, of all accounts.'
  const troubles = async (platform: string): Promise<number> =>
    (await accounts.inTrouble())
      .flatMap(({ chat_troubles = [] }) => chat_troubles)
      .filter((trouble) => trouble.platform === platform).length
  const looks = chats.map(({ platform }) => [platform, () => troubles(platform)] as const)
  addEach(registers, { name: 'chat_troubles', help, label: 'platform' }, Object.fromEntries(looks))
}

/** Entries read of each collection: their tokens are drawn at random, so these are as old as the others. */
const SAMPLE = 20

/** Returns the age in seconds of the oldest entry that waits to be sealed. */
async function auditLag({ outbox, clock }: Pick<Read, 'outbox' | 'clock'>): Promise<number> {
  const waiting = (await Promise.all(outbox.map((source) => source.due(SAMPLE)))).flat()
  const times = waiting.flatMap(({ audit }) => audit.map(({ at }) => at.getTime()))
  return times.length === 0 ? 0 : ageOf(new Date(Math.min(...times)), clock)
}

function ageOf(at: Date | undefined, clock: Read['clock']): number {
  return at === undefined ? 0 : Math.max(0, clock.now().getTime() - at.getTime()) / 1000
}

function addSize(
  add: (name: string, help: string, look: () => Promise<number>) => void,
  size: () => Promise<StoreSize>,
): void {
  add('store_bytes', 'Bytes that the store takes on its disk.', async () => (await size()).bytes)
  add('disk_free_bytes', 'Bytes free on the disk of the store.', async () => (await size()).free)
}

/** Finds out how the size is read: of the files of an embedded store on this machine, or as a MongoDB tells it. */
function sizeOf({ config }: MetricsParts, figures: Figures): () => Promise<StoreSize> {
  const { mongodbUri, dataDir } = config
  const socket = encodeURIComponent(join(dataDir, 'run', 'store.sock'))
  if (mongodbUri !== undefined && !mongodbUri.includes(socket)) return () => figures.size()
  const bytesOf = (name: string): number =>
    statSync(join(dataDir, name), { throwIfNoEntry: false })?.size ?? 0
  return async () => {
    const { bavail, bsize } = await statfs(dataDir)
    return { bytes: bytesOf('store.db') + bytesOf('store.db-wal'), free: bavail * bsize }
  }
}

/** Milliseconds to wait for the store: less than a scrape may take as a whole. */
const LOOK_MS = 2_000

/** Returns the answer, or undefined if the store does not answer in time or fails. */
function soon<Value>(answer: Promise<Value>): Promise<Value | undefined> {
  return within(LOOK_MS, answer).catch(() => undefined)
}
