import type { Document } from 'bson'
import type { Fleet } from './chaos-fleet.ts'
import type { Arrival, Behaviour, Receiver } from './receiver.ts'
import type { Trap } from './store-proxy.ts'

/** One write on the way from a request to its settled delivery. */
type Step = Pick<Trap, 'command' | 'collection' | 'where'> & { name: string }

const changes = (command: Document): Document[] =>
  Array.isArray(command.updates) ? command.updates.map(({ u }: Document) => u ?? {}) : [command.update ?? {}]
/** Updates that set the field, to this value if one is given. */
export const sets = (field: string, value?: string) => (command: Document) =>
  changes(command).some(({ $set = {} }) => field in $set && (value === undefined || $set[field] === value))
const settles = (command: Document): boolean =>
  changes(command).some(({ $unset = {} }) => 'outbox_token' in $unset)
const tellsOf = (kind: string) => (command: Document) =>
  Array.isArray(command.documents) &&
  command.documents.some(({ entry }: Document) => String(entry?.type).startsWith(kind))

/** Every write of the path, in order. */
const STEPS: readonly Step[] = [
  { name: 'create', command: 'insert', collection: 'requests' },
  { name: 'decide', command: 'findAndModify', collection: 'requests', where: sets('decision') },
  { name: 'relay', command: 'insert', collection: 'deliveries' },
  { name: 'audit of requests', command: 'insert', collection: 'audit_log', where: tellsOf('approval.') },
  { name: 'settle requests', command: 'update', collection: 'requests', where: settles },
  { name: 'claim', command: 'update', collection: 'deliveries', where: sets('state', 'leased') },
  {
    name: 'finish, delivered',
    command: 'update',
    collection: 'deliveries',
    where: sets('state', 'delivered'),
  },
  { name: 'finish, failed', command: 'update', collection: 'deliveries', where: sets('state', 'due') },
  { name: 'audit of deliveries', command: 'insert', collection: 'audit_log', where: tellsOf('delivery.') },
  { name: 'settle deliveries', command: 'update', collection: 'deliveries', where: settles },
]

/** The store's word that the write changed something; a claim that finds nothing is no claim. */
export const didSomething = ({ value, n }: Document): boolean =>
  value === undefined ? n > 0 : value !== null

/** A point of the path at which a process is killed. */
export interface KillPoint {
  name: string
  trap: Trap
}

/** Twenty: each write of the path, before the store sees it and after the store has done it. */
export const KILL_POINTS: readonly KillPoint[] = STEPS.flatMap(({ name, ...write }) =>
  (['before', 'after'] as const).map((side) => ({
    name: `${name}: ${side} ${write.command} ${write.collection}`,
    trap: { ...write, side, answer: didSomething },
  })),
)

/** A receiver's behaviour when whoever sends to it is killed in the middle: the sender cannot know what became of it. */
export const SEND_POINTS: readonly { name: string; behaviour: Behaviour }[] = [
  { name: 'send: before the receiver took it', behaviour: { kind: 'drop' } },
  { name: 'send: after the receiver took it', behaviour: { kind: 'take-and-drop' } },
]

/**
 * Lets a receiver behave as `mood` says, but for ambushes: the next delivery that comes in kills its sender, which is known
 * from the lease that passed the sender's store proxy: with the delivery as it is stored, or a claim of its own.
 */
export function layAmbushes(
  fleet: Fleet,
  receiver: Receiver,
  mood: (arrival: Arrival) => Behaviour,
): (behaviour: Behaviour) => Promise<void> {
  const senders = new Map<string, () => void>()
  const arrivals = new Map<unknown, string>()
  for (const slot of fleet.slots) {
    slot.proxy.watch('insert', 'deliveries', ({ documents }, { writeErrors = [] }) => {
      const refused = new Set([writeErrors].flat().map(({ index }: Document) => index))
      for (const [index, { _id, url, event_id, state }] of [...documents].entries()) {
        if (refused.has(index)) continue
        arrivals.set(_id, `${new URL(url).pathname} ${event_id}`)
        if (state === 'leased') senders.set(arrivals.get(_id) ?? '', slot.kill)
      }
    })
    slot.proxy.watch('update', 'deliveries', ({ updates }) => {
      for (const { q, u } of updates)
        if (u.$set?.state === 'leased') senders.set(arrivals.get(q._id) ?? '', slot.kill)
    })
  }
  let ambush: ((arrival: Arrival) => Behaviour) | undefined
  receiver.behave((arrival) => ambush?.(arrival) ?? mood(arrival))
  return (behaviour) =>
    new Promise((resolve) => {
      ambush = (arrival) => {
        const kill = senders.get(`${arrival.path} ${arrival.eventId}`)
        // Of what a killed process stored, no reply came by: who sends that is not known, and the next one is taken.
        if (kill === undefined) return mood(arrival)
        ambush = undefined
        kill()
        resolve()
        return behaviour
      }
    })
}
