import { Schema } from 'mongoose'
import type { Outcome } from '../../domain/receipt.ts'
import { STRICT_SCHEMA, type StoreConnection } from '../mongo/connect.ts'
import { date, part, text } from '../mongo/fields.ts'
import { UNEXPIRED } from '../mongo/filters.ts'
import { recordIn } from '../mongo/record.ts'

/** The use a challenge is issued for; no other use accepts it (T19). */
export type ChallengePurpose =
  | 'sign-in'
  | 'enroll'
  | 'decision'
  | 'batch'
  | 'bootstrap'
  | 'passkey.add'
  | 'step-up'
  | 'chat.install'

/** A WebAuthn challenge (for `chat.install`, an OAuth state) as stored: hashed, single use, valid for five minutes (T33). */
export interface Challenge {
  /** Hex SHA-256 of the challenge bytes. */
  id: string
  purpose: ChallengePurpose
  user_id?: string
  /**
   * Step-up: the operation and its target, e.g. `passkey.remove:pky_…`; adding a passkey: the factor that proved it; enrolment:
   * the enrolment's id; decision and consent: what, and with which outcome.
   */
  subject?: string
  /** The session that asked for it; absent in sign-in and enrolment, where no session exists yet. */
  session_id?: string
  /** The statement whose hash is the challenge, of a decision, a consent or a batch. */
  intent_json?: string
  /** Batch: each request as shown to the person, in the order of the batch statement. */
  shown?: ShownItem[]
  /** Set-up of the first owner: what they typed before the ceremony. Enrolment: the user handle offered. */
  profile?: { email: string; name: string; account_name?: string; user_handle: string }
  expires_at: Date
}

/** One request of a batch as it stood when the person was asked; any difference later refuses the whole batch (T18). */
export interface ShownItem {
  request_id: string
  decision: Outcome
  /** RFC 8785 text of the request's own intent. */
  intent_json: string
  /** User id of the person whose vote it would be. */
  whose: string
  /** Decision ids of the votes cast so far. */
  votes: string[]
  /** The factors with which the person could decide the request. */
  methods: ('passkey' | 'totp')[]
}

type ChallengeDocument = Omit<Challenge, 'id'> & { _id: string }

const challengeSchema = new Schema<ChallengeDocument>(
  {
    _id: text,
    purpose: text,
    user_id: String,
    subject: String,
    session_id: String,
    intent_json: String,
    shown: part,
    profile: part,
    expires_at: date,
  },
  STRICT_SCHEMA,
)
challengeSchema.index({ expires_at: 1 }, { expireAfterSeconds: 0 })

/** WebAuthn challenges on mongoose. Reading a challenge deletes it, so a replayed answer never finds it (T33). */
export function createChallengeStore(connection: StoreConnection) {
  const model = connection.model<ChallengeDocument>('Challenge', challengeSchema, 'challenges')
  return {
    async put({ id, ...rest }: Challenge): Promise<void> {
      await model.create({ _id: id, ...rest })
    },
    /**
     * Reads and deletes a challenge in one step, before anything is verified (T33). A challenge that expired (by the
     * database's clock) or has another purpose is not found.
     */
    async take(id: string, purpose: ChallengePurpose): Promise<Challenge | undefined> {
      const open = { _id: id, purpose, $expr: UNEXPIRED }
      return recordIn(await model.findOneAndDelete(open).lean<ChallengeDocument>())
    },
  }
}
