import mongoose from 'mongoose'
import type { AuditEntry } from '../domain/audit.ts'
import { identityKey, type LinkedIdentity } from '../domain/chat.ts'
import { refusal } from '../domain/errors.ts'
import type { Totp, User } from '../domain/user.ts'
import type { PasskeyUse, UserChange, UserStore } from '../flow/people-ports.ts'
import { isDuplicateKey, type StoreConnection } from './connect.ts'
import { takeTotpTry } from './totp-tries.ts'
import { type Nudge, noNudge, tokenOf, traced } from './trace.ts'
import { type UserDocument, userSchema } from './user-schema.ts'

const { trusted } = mongoose
type Users = mongoose.Model<UserDocument>

/** Wrong first codes until a waiting seed is dead. */
const PENDING_TRIES = 5

/** People on mongoose. */
export function createUserStore(connection: StoreConnection, nudge: Nudge = noNudge): UserStore {
  const users: Users = connection.model<UserDocument>('User', userSchema, 'users')
  return {
    async insert(user) {
      await insert(users, user)
      nudge()
    },
    ...reads(users),
    async change(id, version, fields, audit) {
      const changed = await change(users, id, version, fields, audit)
      if (changed !== undefined) nudge()
      return changed
    },
    usePasskey: (use) => usePasskey(users, use),
    async suspendPasskey(userId, credentialId, at, audit) {
      const fresh = trusted({ $elemMatch: { credential_id: credentialId, suspended_at: null } })
      const set = traced({ $set: { 'passkeys.$.suspended_at': at }, $inc: { version: 1 } }, [audit])
      await users.updateOne({ _id: userId, passkeys: fresh }, set)
      nudge()
    },
    takeTotpTry: (userId, at) => takeTotpTry(users, userId, at),
    takeTotpStep: (userId, step, tried) => takeTotpStep(users, userId, step, tried),
    async takePendingTotpTry(userId, at) {
      const waiting = {
        _id: userId,
        'totp_pending.tries': trusted({ $lt: PENDING_TRIES }),
        'totp_pending.expires_at': trusted({ $gt: at }),
      }
      const count = { $inc: { 'totp_pending.tries': 1, version: 1 } }
      return toUser(
        await users.findOneAndUpdate(waiting, count, { returnDocument: 'after' }).lean<UserDocument>(),
      )
    },
    async takeBackupCode(userId, hash, audit) {
      const take = traced({ $pull: { backup_codes: hash }, $inc: { version: 1 } }, [audit])
      const { modifiedCount } = await users.updateOne({ _id: userId, backup_codes: hashed(hash) }, take)
      if (modifiedCount === 1) nudge()
      return modifiedCount === 1
    },
    async addAudit(userId, audit) {
      await users.updateOne({ _id: userId }, traced({ $inc: { version: 1 } }, [audit]))
      nudge()
    },
  }
}

function reads(users: Users) {
  return {
    find: async (id: string) => toUser(await users.findById(id).lean<UserDocument>()),
    findByEmail: async (email: string) => toUser(await users.findOne({ email }).lean<UserDocument>()),
    findByCredential: async (credentialId: string) =>
      toUser(await users.findOne({ 'passkeys.credential_id': credentialId }).lean<UserDocument>()),
    findByDevice: async (deviceHash: string) =>
      toUser(await users.findOne({ 'devices.hash': hashed(deviceHash) }).lean<UserDocument>()),
    findByIdentity: async (key: string) =>
      toUser(await users.findOne({ 'chat.key': String(key) }).lean<UserDocument>()),
    findMany: async (ids: readonly string[]) =>
      (await users.find({ _id: trusted({ $in: [...ids] }) }).lean<UserDocument[]>()).map(fromDocument),
    principalsOf: async (userId: string, now: Date) => {
      const active = {
        'delegate.user_id': userId,
        'delegate.starts_at': trusted({ $lte: now }),
        'delegate.ends_at': trusted({ $gt: now }),
      }
      return (await users.find(active).sort({ _id: 1 }).lean<UserDocument[]>()).map(fromDocument)
    },
    list: async () =>
      (await users.find({}).sort({ created_at: 1, _id: 1 }).lean<UserDocument[]>()).map(fromDocument),
    count: () => users.countDocuments({}),
  }
}

async function insert(users: Users, { id, chat, ...rest }: User): Promise<void> {
  try {
    await users.create({ _id: id, ...rest, chat: keyed(chat), ...tokenOf(rest) })
  } catch (error) {
    if (isDuplicateKey(error, 'founder')) throw refusal('enrollment_invalid')
    if (isDuplicateKey(error, 'chat.key')) throw refusal('identity_taken')
    if (isDuplicateKey(error)) throw refusal('email_taken')
    throw error
  }
}

async function change(users: Users, id: string, version: number, fields: UserChange, audit: AuditEntry[]) {
  const stored = { ...fields, ...(fields.chat === undefined ? {} : { chat: keyed(fields.chat) }) }
  const given = Object.entries(stored)
  const set = Object.fromEntries(given.filter(([, value]) => value !== null && value !== undefined))
  const unset = Object.fromEntries(given.filter(([, value]) => value === null).map(([key]) => [key, 1]))
  const plain = {
    $inc: { version: 1 },
    ...(Object.keys(set).length > 0 ? { $set: set } : {}),
    ...(Object.keys(unset).length > 0 ? { $unset: unset } : {}),
  }
  const update = traced(plain, audit)
  try {
    const query = users.findOneAndUpdate({ _id: id, version }, update, { returnDocument: 'after' })
    return toUser(await query.lean<UserDocument>())
  } catch (error) {
    if (isDuplicateKey(error, 'chat.key')) throw refusal('identity_taken')
    if (isDuplicateKey(error)) throw refusal('passkey_exists')
    throw error
  }
}

function keyed(identities: readonly LinkedIdentity[]) {
  return identities.map((identity) => ({ key: identityKey(identity), ...identity }))
}

async function usePasskey(users: Users, use: PasskeyUse): Promise<boolean> {
  const counter = use.counter === 0 ? 0 : { $lt: use.counter }
  const mine = { credential_id: use.credentialId, suspended_at: null, counter }
  const update = {
    $set: {
      'passkeys.$.counter': use.counter,
      'passkeys.$.synced': use.synced,
      'passkeys.$.last_used_at': use.at,
    },
    $inc: { version: 1 },
  }
  const filter = { _id: use.userId, passkeys: trusted({ $elemMatch: mine }) }
  return (await users.updateOne(filter, update)).matchedCount === 1
}

async function takeTotpStep(users: Users, userId: string, step: number, tried: Totp): Promise<boolean> {
  const filter = {
    _id: userId,
    'totp.last_step': trusted({ $lt: step }),
    // Codes set up anew have another seed; codes disabled since the try stay disabled.
    'totp.sealed_seed': tried.sealed_seed,
    'totp.disabled_at': tried.disabled_at,
  }
  const fresh = {
    'totp.last_step': step,
    'totp.failures': 0,
    'totp.locks': 0,
    'totp.locked_until': null,
    'totp.disabled_at': null,
  }
  return (await users.updateOne(filter, { $set: fresh, $inc: { version: 1 } })).modifiedCount === 1
}

/** An odd value in a filter would match people without the field (T62), so the shape is asserted first. */
function hashed(hash: string): string {
  if (!/^[0-9a-f]{64}$/.test(hash)) throw new TypeError('not a keyed hash')
  return hash
}

function fromDocument({ _id, relay: _relay, chat = [], ...rest }: UserDocument): User {
  return { id: _id, ...rest, chat: chat.map(({ key: _key, ...identity }) => identity) }
}

function toUser(document: UserDocument | null): User | undefined {
  return document === null ? undefined : fromDocument(document)
}
