import mongoose, { Schema } from 'mongoose'
import type { AuditEntry } from '../../domain/audit.ts'
import type { Webhook } from '../../domain/webhook.ts'
import { updateEach } from '../mongo/bulk-writes.ts'
import { STRICT_SCHEMA, type StoreConnection } from '../mongo/connect.ts'
import { date, part, text } from '../mongo/fields.ts'
import { OLDEST_FIRST } from '../mongo/filters.ts'
import { addOutbox, noWake, type OutboxToken, type Wake, withOutbox } from '../mongo/outbox.ts'
import { documentOf, recordIn, recordOf } from '../mongo/record.ts'
import { createLookup } from '../mongo/shared-commands.ts'
import { insertInSlot } from '../mongo/slots.ts'
import { createWriter } from '../mongo/writer.ts'

const { trusted } = mongoose

type WebhookDocument = Omit<Webhook, 'id'> & { _id: string } & OutboxToken
type WebhookModel = mongoose.Model<WebhookDocument>

const webhookSchema = new Schema<WebhookDocument>(
  {
    _id: text,
    account_id: text,
    url: text,
    host: text,
    events: { type: [String], required: true },
    state: text,
    sealed_secret: text,
    previous_secret: part,
    created_at: date,
    disabled_at: { type: Date, default: null },
    slot: Number,
  },
  STRICT_SCHEMA,
)
webhookSchema.index({ account_id: 1, created_at: 1, _id: 1 })
webhookSchema.index({ 'previous_secret.until': 1 }, { sparse: true })
// An account has no more webhooks than places.
webhookSchema.index(
  { account_id: 1, slot: 1 },
  { unique: true, partialFilterExpression: { slot: { $exists: true } } },
)
addOutbox(webhookSchema)

const LIVE = trusted({ $ne: 'deleted' as const })

/** Webhooks on mongoose. A deleted webhook stays stored for the sake of its delivery log, without its secrets. */
export function createWebhookStore(connection: StoreConnection, wake: Wake = noWake) {
  const model = connection.model<WebhookDocument>('Webhook', webhookSchema, 'webhooks')
  const writer = createWriter<WebhookDocument, Webhook>(model, wake, recordOf)
  return {
    /** @returns false when the account has `most` webhooks that are not deleted */
    async insert(webhook: Webhook, most: number): Promise<boolean> {
      const live = { account_id: webhook.account_id, state: LIVE }
      const others = await model.find(live, { slot: 1 }).lean<Pick<WebhookDocument, 'slot'>[]>()
      const slot = await insertInSlot(
        others.map((other) => other.slot),
        most,
        (slot) => writer.insertNew(documentOf({ ...webhook, slot }), 'slot'),
      )
      return slot !== 'full'
    },
    ...reads(model, createLookup(model)),
    ...changes(writer),
    /** Removes the previous secrets that no longer sign at `now`. */
    async forgetPreviousSecrets(now: Date): Promise<void> {
      const over = { 'previous_secret.until': trusted({ $lte: now }) }
      await updateEach(connection.collection('webhooks'), over, { $unset: { previous_secret: 1 } })
    },
  }
}

function reads(model: WebhookModel, lookup: (id: string) => Promise<WebhookDocument | undefined>) {
  return {
    async find(id: string): Promise<Webhook | undefined> {
      return recordIn(await lookup(id))
    },
    /** Returns the account's webhooks that are not deleted, oldest first. */
    async list(accountId: string): Promise<Webhook[]> {
      const live = { account_id: accountId, state: LIVE }
      const found = await model.find(live).sort(OLDEST_FIRST).lean<WebhookDocument[]>()
      return found.map(recordOf)
    },
    /** Returns the active webhooks of these accounts. */
    async activeOf(accountIds: readonly string[]): Promise<Webhook[]> {
      const active = { account_id: trusted({ $in: [...accountIds] }), state: 'active' as const }
      return (await model.find(active).lean<WebhookDocument[]>()).map(recordOf)
    },
  }
}

/** Changes return undefined when no such webhook is in the required state, or it belongs to another account. */
function changes({ change, update }: ReturnType<typeof createWriter<WebhookDocument, Webhook>>) {
  return {
    /** Replaces the secret `replaces` by another. */
    rotate: (
      id: string,
      accountId: string,
      secret: { sealed_secret: string; previous_secret: NonNullable<Webhook['previous_secret']> },
      replaces: string,
      audit: AuditEntry,
    ) =>
      change(
        { _id: id, account_id: accountId, state: LIVE, sealed_secret: replaces },
        withOutbox({ $set: { ...secret } }, [audit]),
      ),
    /** active → disabled. @returns false when it was not active. */
    disable: (id: string, at: Date, audit: AuditEntry) =>
      update(
        { _id: id, state: 'active' },
        withOutbox({ $set: { state: 'disabled', disabled_at: at } }, [audit]),
      ),
    /** disabled → active. */
    enable: (id: string, accountId: string, audit: AuditEntry) =>
      change(
        { _id: id, account_id: accountId, state: 'disabled' },
        withOutbox({ $set: { state: 'active', disabled_at: null } }, [audit]),
      ),
    remove: (id: string, accountId: string, audit: AuditEntry) =>
      change(
        { _id: id, account_id: accountId, state: LIVE },
        withOutbox(
          { $set: { state: 'deleted', sealed_secret: '' }, $unset: { previous_secret: 1, slot: 1 } },
          [audit],
        ),
      ),
    async addAudit(id: string, audit: AuditEntry): Promise<void> {
      await update({ _id: id }, withOutbox({}, [audit]))
    },
  }
}
