import mongoose, { Schema } from 'mongoose'
import type { AuditEntry } from '../../domain/audit.ts'
import { refusal } from '../../domain/errors.ts'
import {
  MAIL_SLOT,
  MOST_CODE_TRIES,
  MOST_CODES,
  MOST_PUSH_DEVICES,
  type PushDevice,
} from '../../domain/push.ts'
import { deleteEach } from '../mongo/bulk-writes.ts'
import { STRICT_SCHEMA, type StoreConnection } from '../mongo/connect.ts'
import { isDuplicateKey, unlessTaken } from '../mongo/failures.ts'
import { date, part, text } from '../mongo/fields.ts'
import { OLDEST_FIRST } from '../mongo/filters.ts'
import { addOutbox, noWake, type OutboxToken, type Wake, withOutbox } from '../mongo/outbox.ts'
import { documentOf, recordIn, recordOf } from '../mongo/record.ts'
import { insertInSlot } from '../mongo/slots.ts'
import { createWriter } from '../mongo/writer.ts'

const { trusted } = mongoose

type DeviceDocument = Omit<PushDevice, 'id'> & { _id: string } & OutboxToken
type DeviceModel = mongoose.Model<DeviceDocument>

const deviceSchema = new Schema<DeviceDocument>(
  {
    _id: text,
    user_id: text,
    account_id: text,
    kind: String,
    state: text,
    code: part,
    codes_sent: { type: [Date], default: undefined },
    bounced_at: Date,
    name: text,
    endpoint_hash: String,
    sealed: String,
    slot: Number,
    host: text,
    created_at: date,
    last_sent_at: { type: Date, default: null },
  },
  STRICT_SCHEMA,
)
// These two enforce that a browser shows one person's notifications, and that no person has more than ten browsers.
deviceSchema.index(
  { endpoint_hash: 1 },
  { unique: true, partialFilterExpression: { endpoint_hash: { $exists: true } } },
)
deviceSchema.index(
  { user_id: 1, slot: 1 },
  { unique: true, partialFilterExpression: { slot: { $exists: true } } },
)
deviceSchema.index({ state: 1 }, { partialFilterExpression: { state: 'removed' }, name: 'removed' })
addOutbox(deviceSchema)

/** Browsers on mongoose. To register, renew or remove one is a conditional write each. */
export function createPushDeviceStore(connection: StoreConnection, wake: Wake = noWake) {
  const model = connection.model<DeviceDocument>('PushDevice', deviceSchema, 'push_devices')
  const writer = createWriter(model, wake, recordOf)
  const { update } = writer
  const remove = (
    id: string,
    userId: string,
    audit: AuditEntry,
    more: Partial<Pick<PushDevice, 'bounced_at'>> = {},
  ): Promise<boolean> =>
    update(
      { _id: id, user_id: userId, state: trusted({ $in: ['active', 'unconfirmed'] }) },
      withOutbox({ $set: { ...more, state: 'removed' }, $unset: GONE }, [audit]),
    )
  return {
    ...createMailAddresses(model, writer),
    /**
     * Registers the browser in the first free slot of its person, or renews its name and subscription if this person has it.
     * Another person who had it loses it (unless `takenOver` throws), because a browser shows one person's notifications.
     * @returns the stored device; `full` when every slot is taken
     */
    async put(device: PushDevice, takenOver: (from: PushDevice) => AuditEntry): Promise<PushDevice | 'full'> {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
        const [held] = await read(model, { endpoint_hash: String(device.endpoint_hash), state: 'active' })
        if (held !== undefined && held.user_id !== device.user_id) {
          await remove(held.id, held.user_id, takenOver(held))
        }
        const renewed = await renew(model, device)
        if (renewed !== undefined) return renewed
        const made = await insert(model, device)
        if (made === 'elsewhere') continue
        if (made !== 'full') wake({ outboxOf: 'push_devices' })
        return made
      }
      throw refusal('unavailable')
    },
    async find(id: string): Promise<PushDevice | undefined> {
      return (await read(model, { _id: id }))[0]
    },
    /** Checks whether any browser or address is registered. A removed one has no `endpoint_hash`, so the index answers. */
    async any(): Promise<boolean> {
      const registered = { endpoint_hash: trusted({ $exists: true, $gte: '' }) }
      return (await model.findOne(registered, { _id: 1 }).lean()) !== null
    },
    /** Returns the active browsers and addresses of these people, oldest first. */
    activeOf: (userIds: readonly string[]) => activeOf(model, userIds),
    /** Removes a browser or an address. @returns false when it is removed, or not this person's. */
    remove,
    /** Notes when the push service last accepted a message for the browser. */
    async noteSent(id: string, at: Date): Promise<void> {
      await model.updateOne({ _id: id, state: 'active' }, { $set: { last_sent_at: at } })
    },
    /** Deletes removed browsers whose outbox the relay has emptied; addresses stay. @returns how many */
    async deleteRemoved(): Promise<number> {
      return deleteEach(connection.collection('push_devices'), {
        ...{ state: 'removed', outbox_token: null },
        kind: null,
      })
    },
  }
}

const DAY_MS = 86_400_000

type Writer = ReturnType<typeof createWriter<DeviceDocument, PushDevice>>

/** E-mail addresses among the places at which people are told. Each step is one conditional write. */
function createMailAddresses(model: mongoose.Model<DeviceDocument>, { change }: Writer) {
  return {
    /**
     * Stores the code that is about to be sent to the address. Removal does not forget how many were sent.
     * @param address not confirmed, with its code
     * @returns `full` when enough codes were sent within a day, `confirmed` when none is needed
     */
    async offerCode(address: PushDevice, at: Date): Promise<'offered' | 'full' | 'confirmed'> {
      const { id, code } = address
      const open = { _id: id, state: trusted({ $ne: 'active' as const }) }
      const seldom = [
        { [`codes_sent.${MOST_CODES - 1}`]: trusted({ $exists: false }) },
        { 'codes_sent.0': trusted({ $lte: new Date(at.getTime() - DAY_MS) }) },
      ]
      const next = {
        $set: { state: 'unconfirmed' as const, code },
        $push: { codes_sent: { $each: [at], $slice: -MOST_CODES } },
      }
      if ((await model.updateOne({ ...open, $or: seldom }, next)).matchedCount === 1) return 'offered'
      try {
        await model.create(documentOf({ ...address, codes_sent: [at] }))
        return 'offered'
      } catch (error) {
        if (!isDuplicateKey(error, '_id')) throw error
      }
      return (await model.findOne(open, { _id: 1 }).lean()) === null ? 'confirmed' : 'full'
    },
    /** Confirms the address if this is its newest code, and counts the try. @returns undefined when it is not */
    async confirm(
      id: string,
      hash: string,
      { at, endpoint_hash, audit }: { at: Date; endpoint_hash: string; audit: AuditEntry },
    ): Promise<PushDevice | undefined> {
      const open = {
        ...{ _id: id, state: 'unconfirmed' as const },
        'code.expires_at': trusted({ $gt: at }),
        'code.tries': trusted({ $lt: MOST_CODE_TRIES }),
      }
      const confirmed = {
        $set: { state: 'active', slot: MAIL_SLOT, endpoint_hash },
        $unset: { code: 1, bounced_at: 1 },
      } as const
      const done = await change({ ...open, 'code.hash': hash }, withOutbox(confirmed, [audit]))
      if (done === undefined) await model.updateOne(open, { $inc: { 'code.tries': 1 } })
      return done
    },
  }
}

/** Attempts of a registration: another person may register the same browser first, and is then taken over from. */
const MAX_ATTEMPTS = 8

/** Fields cleared on removal: the secrets and the uniquely indexed keys. */
const GONE = { endpoint_hash: 1, sealed: 1, slot: 1, code: 1 } as const

/** Renews the same browser of the same person: its id stays, name and secrets may be new. */
async function renew(model: DeviceModel, device: PushDevice): Promise<PushDevice | undefined> {
  const { user_id, endpoint_hash, name, sealed, host } = device
  const query = model.findOneAndUpdate(
    { user_id, endpoint_hash: String(endpoint_hash), state: 'active' },
    { $set: { name, sealed: String(sealed), host } },
    { returnDocument: 'after' },
  )
  const found = await query.lean<DeviceDocument>()
  return recordIn(found)
}

/** @returns `elsewhere` when another person has just registered the browser */
async function insert(model: DeviceModel, device: PushDevice): Promise<PushDevice | 'full' | 'elsewhere'> {
  const live = (await activeOf(model, [device.user_id])).map(({ slot }) => slot)
  try {
    const slot = await insertInSlot(live, MOST_PUSH_DEVICES, (slot) =>
      unlessTaken(() => model.create(documentOf({ ...device, slot })), 'slot'),
    )
    return slot === 'full' ? slot : { ...device, slot }
  } catch (error) {
    if (!isDuplicateKey(error, 'endpoint_hash')) throw error
    // The same browser was registered twice at once; the other registration is renewed.
    return (await renew(model, device)) ?? 'elsewhere'
  }
}

/** Reads active browsers. Each holds a slot, so the index of slots answers. */
async function activeOf(
  model: DeviceModel,
  userIds: readonly string[],
  options: object = {},
): Promise<PushDevice[]> {
  if (userIds.length === 0) return []
  const owners = trusted({ $in: [...userIds] })
  return read(model, { user_id: owners, slot: trusted({ $gte: 0 }), state: 'active' }, options)
}

async function read(
  model: DeviceModel,
  filter: mongoose.QueryFilter<DeviceDocument>,
  options: object = {},
): Promise<PushDevice[]> {
  const found = await model.find(filter).sort(OLDEST_FIRST).setOptions(options).lean<DeviceDocument[]>()
  return found.map(recordOf)
}
