import mongoose from 'mongoose'
import type { AuditEntry } from '../../domain/audit.ts'
import { identityKey, type LinkedIdentity } from '../../domain/chat.ts'
import { refusal } from '../../domain/errors.ts'
import type { Hearing } from '../../domain/hearing.ts'
import type { Delegate, Passkey, Recovery, Totp, User } from '../../domain/user.ts'
import type { StoreConnection } from '../mongo/connect.ts'
import { isDuplicateKey } from '../mongo/failures.ts'
import { OLDEST_FIRST } from '../mongo/filters.ts'
import { noWake, type Wake, withOutbox } from '../mongo/outbox.ts'
import { documentOf, replacing } from '../mongo/record.ts'
import { createLookup } from '../mongo/shared-commands.ts'
import { createWriter } from '../mongo/writer.ts'
import { createTotpTries } from './totp-tries.ts'
import { type UserDocument, userSchema } from './user-schema.ts'

const { trusted } = mongoose
type Users = mongoose.Model<UserDocument>

/** Tries of a first code after which a pending seed is dead. */
const PENDING_TRIES = 5

/** One successful use of a passkey. */
interface PasskeyUse {
  userId: string
  credentialId: string
  counter: number
  synced: boolean
  at: Date
  /** The passkey can sync: its copies need not agree on a counter. */
  syncs: boolean
  /** The counter went backwards: when the person was told of it, and the entry. */
  fell?: { at: Date; entry: AuditEntry }
}

/** A change of a person's fields; `null` removes an optional field. */
export interface UserChange {
  name?: string
  default_ttl_seconds?: number
  no_account?: null
  hearing?: Hearing
  next_steps_hidden?: boolean
  delegate?: Delegate | null
  invited_by_account?: null
  passkeys?: Passkey[]
  totp?: Totp | null
  totp_pending?: { sealed_seed: string; expires_at: Date; tries: number } | null
  backup_codes?: string[]
  devices?: { hash: string; created_at: Date }[]
  recovery?: Recovery | null
  factor_epoch?: number
  chat?: LinkedIdentity[]
  enrolled_at?: Date
  email?: string
  user_handle?: string
  erasing?: User['erasing'] | null
  erased_at?: Date
}

/**
 * People on mongoose. Every write is one conditional single-document write and raises `version` (`willHaveBrowser` does not);
 * writers that replace whole fields name the version they read.
 */
export function createUserStore(connection: StoreConnection, wake: Wake = noWake) {
  const users: Users = connection.model<UserDocument>('User', userSchema, 'users')
  const writer = createWriter(users, wake, fromDocument)
  const lookup = createLookup(users)
  const byAccount = createLookup(users, { field: 'account_id' })
  return {
    ...reads(users, lookup),
    /** Finds the person whose own account this is. */
    findByAccount: async (accountId: string) => toUser(await byAccount(accountId)),
    ...writes(users, writer),
    ...factorUses(users, writer),
  }
}

function reads(users: Users, lookup: (id: string) => Promise<UserDocument | undefined>) {
  const findOne = async (filter: mongoose.QueryFilter<UserDocument>): Promise<User | undefined> =>
    toUser(await users.findOne(filter).lean<UserDocument>())
  return {
    async find(id: string): Promise<User | undefined> {
      return toUser(await lookup(id))
    },
    /** The address must be normalised (`normaliseEmail`). */
    findByEmail: (email: string) => findOne({ email }),
    findByCredential: (credentialId: string) => findOne({ 'passkeys.credential_id': credentialId }),
    /** Finds the person whose browser this is, by the keyed hash of the device cookie. */
    findByDevice: async (deviceHash: string) => findOne({ 'devices.hash': hashed(deviceHash) }),
    /** Finds the person who linked this chat identity, by `identityKey`. */
    findByIdentity: (key: string) => findOne({ 'chat.key': String(key) }),
    async findMany(ids: readonly string[]): Promise<User[]> {
      const found = await Promise.all([...new Set(ids)].map(lookup))
      return found.flatMap((document) => (document === undefined ? [] : [fromDocument(document)]))
    },
    /** Returns the people for whom this person stands in at `now`. */
    async principalsOf(userId: string, now: Date): Promise<User[]> {
      const active = {
        'delegate.user_id': userId,
        'delegate.starts_at': trusted({ $lte: now }),
        'delegate.ends_at': trusted({ $gt: now }),
      }
      return (await users.find(active).sort({ _id: 1 }).lean<UserDocument[]>()).map(fromDocument)
    },
    async list(): Promise<User[]> {
      return (await users.find({}).sort(OLDEST_FIRST).lean<UserDocument[]>()).map(fromDocument)
    },
    /** Checks whether anyone exists, by one entry of an index. */
    async any(): Promise<boolean> {
      return (await users.findOne({ _id: trusted({ $gte: '' }) }, { _id: 1 }).lean()) !== null
    },
  }
}

type Writer = ReturnType<typeof createWriter<UserDocument, User>>

function writes(users: Users, writer: Writer) {
  return {
    /** @throws Refusal from the unique indexes: `email_taken`, `identity_taken`, or `enrollment_invalid` for a second founder. */
    insert: (user: User) => insert(writer, user),
    /**
     * Replaces the given fields if the person still has that version. @returns undefined when not: read the person again.
     * @throws Refusal `passkey_exists` or `identity_taken` when another person has the credential or the identity already
     * (unique indexes).
     */
    change(id: string, version: number, fields: UserChange, audit: AuditEntry[]): Promise<User | undefined> {
      return change(writer, id, version, fields, audit)
    },
    /** Notes that the person may have browsers. Call it before storing one: every later request then looks for browsers. */
    async willHaveBrowser(userId: string): Promise<void> {
      await users.updateOne({ _id: userId, no_browsers: true }, { $unset: { no_browsers: 1 } })
    },
    /** Takes a passkey out of use, and the codes that it may have begun to set up; keeps the first suspension's time. */
    async suspendPasskey(userId: string, credentialId: string, at: Date, audit: AuditEntry): Promise<void> {
      const fresh = trusted({ $elemMatch: { credential_id: credentialId, suspended_at: null } })
      const suspended = { $set: { 'passkeys.$.suspended_at': at }, $unset: { totp_pending: 1 } }
      await writer.update(
        { _id: userId, passkeys: fresh },
        withOutbox({ ...suspended, $inc: { version: 1 } }, [audit]),
      )
    },
    /** Adds entries about the person when no field changes with them. */
    async addAudit(userId: string, audit: AuditEntry): Promise<void> {
      await writer.update({ _id: userId }, withOutbox({ $inc: { version: 1 } }, [audit]))
    },
  }
}

/** Each use of a factor is one conditional write: of two identical uses at once, only one passes. */
function factorUses(users: Users, writer: Writer) {
  return {
    /**
     * Records the use of a passkey after its assertion passed: the counter of a device-bound one only grows, or stays 0 (T30).
     * @returns false when another use was ahead, or the passkey is gone or suspended by now.
     */
    usePasskey: (use: PasskeyUse) => usePasskey(users, writer, use),
    ...createTotpTries(users, writer),
    /** Takes one of five tries before a pending seed's first code is compared. @returns undefined when no seed or try is left. */
    async takePendingTotpTry(userId: string, at: Date): Promise<User | undefined> {
      const waiting = {
        _id: userId,
        'totp_pending.tries': trusted({ $lt: PENDING_TRIES }),
        'totp_pending.expires_at': trusted({ $gt: at }),
      }
      const count = { $inc: { 'totp_pending.tries': 1, version: 1 } }
      const query = users.findOneAndUpdate(waiting, count, { returnDocument: 'after' })
      return toUser(await query.lean<UserDocument>())
    },
    /** Removes one backup code if it is still there. */
    async takeBackupCode(userId: string, hash: string, audit: AuditEntry): Promise<boolean> {
      const take = withOutbox({ $pull: { backup_codes: hash }, $inc: { version: 1 } }, [audit])
      return writer.update({ _id: userId, backup_codes: hashed(hash) }, take)
    },
  }
}

async function insert(writer: Writer, user: User): Promise<void> {
  try {
    await writer.insert(documentOf({ ...user, chat: keyed(user.chat) }))
  } catch (error) {
    // Any duplicate means that a person exists, and with that the set-up is over.
    if (user.founder && isDuplicateKey(error)) throw refusal('enrollment_invalid')
    if (isDuplicateKey(error, 'chat.key')) throw refusal('identity_taken')
    if (isDuplicateKey(error)) throw refusal('email_taken')
    throw error
  }
}

async function change(writer: Writer, id: string, version: number, fields: UserChange, audit: AuditEntry[]) {
  const stored = { ...fields, ...(fields.chat === undefined ? {} : { chat: keyed(fields.chat) }) }
  const update = withOutbox({ $inc: { version: 1 }, ...replacing(stored) }, audit)
  try {
    return await writer.change({ _id: id, version }, update)
  } catch (error) {
    if (isDuplicateKey(error, 'chat.key')) throw refusal('identity_taken')
    if (isDuplicateKey(error)) throw refusal('passkey_exists')
    throw error
  }
}

function keyed(identities: readonly LinkedIdentity[]) {
  return identities.map((identity) => ({ key: identityKey(identity), ...identity }))
}

async function usePasskey(users: Users, writer: Writer, { fell, ...use }: PasskeyUse): Promise<boolean> {
  const counter = use.counter === 0 ? 0 : { $lt: use.counter }
  const mine = { credential_id: use.credentialId, suspended_at: null, ...(use.syncs ? {} : { counter }) }
  const update = {
    $set: {
      'passkeys.$.counter': use.counter,
      'passkeys.$.synced': use.synced,
      'passkeys.$.last_used_at': use.at,
      ...(fell && { 'passkeys.$.counter_fell_at': fell.at }),
    },
    $inc: { version: 1 },
  }
  const filter = { _id: use.userId, passkeys: trusted({ $elemMatch: mine }) }
  if (fell !== undefined) return writer.update(filter, withOutbox(update, [fell.entry]))
  return (await users.updateOne(filter, update)).matchedCount === 1
}

/** Asserts the shape of a hash: an odd value in a filter would match people without the field (T62). */
function hashed(hash: string): string {
  if (!/^[0-9a-f]{64}$/.test(hash)) throw new TypeError('not a keyed hash')
  return hash
}

function fromDocument({ _id, outbox_token: _token, chat, ...rest }: UserDocument): User {
  return { id: _id, ...rest, chat: chat.map(({ key: _key, ...identity }) => identity) }
}

function toUser(document: UserDocument | null | undefined): User | undefined {
  return document === null || document === undefined ? undefined : fromDocument(document)
}
