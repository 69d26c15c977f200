import { randomUUID } from 'node:crypto'
import mongoose, { Schema } from 'mongoose'
import { beyond } from '../clock.ts'
import { STRICT_SCHEMA, type StoreConnection } from '../mongo/connect.ts'
import { date, part, text } from '../mongo/fields.ts'
import { createInserter } from '../mongo/shared-trips.ts'

interface Answer {
  status: number
  body: string
}

type IdempotencyDocument = {
  /** `<scope>:<key>` */
  _id: string
  body_sha256: string
  /** The attempt that holds the claim: an attempt that lost it cannot finish for its successor. */
  token: string
  /** The resource's id, chosen by the first attempt: a successor after a crash makes the same resource, not a second one. */
  subject: string
  claimed_at: Date
  answer?: Answer
  expires_at: Date
}

const idempotencySchema = new Schema<IdempotencyDocument>(
  {
    _id: text,
    body_sha256: text,
    token: text,
    subject: text,
    claimed_at: date,
    answer: part,
    expires_at: date,
  },
  STRICT_SCHEMA,
)
idempotencySchema.index({ expires_at: 1 }, { expireAfterSeconds: 0 })

const KEPT_MS = 24 * 3600 * 1000

/** A claim not renewed for so long belongs to a process that died, or could not reach the store. */
const LEASE_MS = 10_000

/** The `claimed_at` of an abandoned claim, which any attempt may take over. */
const LONG_AGO = new Date(0)

/**
 * The outcome of a claim. `fresh`: run the call with `subject` as the new resource's id, `renew` meanwhile, then `finish`,
 * `release` or `abandon`; `subject` is the given id, or the id of an attempt that died. `replay`: return the stored answer.
 * `mismatch`: the key was used with another body. `running`: another call is in progress.
 */
type ClaimState =
  | { state: 'fresh'; token: string; subject: string }
  | ({ state: 'replay' } & Answer)
  | { state: 'mismatch' }
  | { state: 'running' }

interface NewClaim {
  scope: string
  key: string
  bodySha256: string
  subject: string
  at: Date
}

/** A claim held by the attempt that has this token. */
interface HeldClaim {
  scope: string
  key: string
  token: string
}

/**
 * The first answers to POSTs with an `Idempotency-Key`, on mongoose; scoped by API key and route. The unique `_id` decides
 * which call runs.
 */
export function createIdempotencyStore(connection: StoreConnection) {
  const model = connection.model<IdempotencyDocument>('Idempotency', idempotencySchema, 'idempotency')
  const insert = createInserter(model)
  return {
    /** Claims the key for this body. */
    async claim({ scope, key, bodySha256, subject, at }: NewClaim): Promise<ClaimState> {
      const claim = { body_sha256: bodySha256, token: randomUUID(), claimed_at: at }
      const _id = `${scope}:${key}`
      const document = { _id, ...claim, subject, expires_at: new Date(at.getTime() + KEPT_MS) }
      const removeOld = () => model.deleteOne({ _id, expires_at: mongoose.trusted({ $lte: at }) })
      const fresh =
        (await insert(document)) || ((await removeOld()).deletedCount === 1 && (await insert(document)))
      return fresh ? { state: 'fresh', token: claim.token, subject } : takeOver(model, _id, claim)
    },
    async finish({ answer, ...claim }: HeldClaim & { answer: Answer }): Promise<void> {
      await model.updateOne(held(claim), { $set: { answer } })
    },
    /** Renews the claim's lease. */
    async renew(claim: HeldClaim, at: Date): Promise<void> {
      await model.updateOne(held(claim), { $set: { claimed_at: at } })
    },
    /** Gives the claim up, but keeps the resource's id for the next attempt: this one may have stored something. */
    async abandon(claim: HeldClaim): Promise<void> {
      await model.updateOne({ ...held(claim), answer: null }, { $set: { claimed_at: LONG_AGO } })
    },
    async release(claim: HeldClaim): Promise<void> {
      await model.deleteOne({ ...held(claim), answer: null })
    },
  }
}

function held({ scope, key, token }: HeldClaim) {
  return { _id: `${scope}:${key}`, token }
}

async function takeOver(
  model: mongoose.Model<IdempotencyDocument>,
  _id: string,
  claim: { body_sha256: string; token: string; claimed_at: Date },
): Promise<ClaimState> {
  const dead = new Date(claim.claimed_at.getTime() - LEASE_MS)
  const stale = {
    _id,
    body_sha256: claim.body_sha256,
    answer: null,
    claimed_at: mongoose.trusted({ $lte: dead }),
  }
  const mine = await model
    .findOneAndUpdate(stale, { $set: claim }, { returnDocument: 'after' })
    .lean<IdempotencyDocument>()
  if (mine !== null) return { state: 'fresh', token: claim.token, subject: mine.subject }
  const held = await model.findById(_id).lean<IdempotencyDocument>()
  if (held !== null && held.body_sha256 !== claim.body_sha256) return { state: 'mismatch' }
  if (held?.answer !== undefined && held.answer !== null) return { state: 'replay', ...held.answer }
  // The clock was set back since: unless it is renewed, the lease ends after its length, and not that much later.
  if (held !== null && held.claimed_at > beyond(claim.claimed_at))
    await model.updateOne({ _id, token: held.token }, { $set: { claimed_at: claim.claimed_at } })
  return { state: 'running' }
}
