import { ERASED, type Vote, withoutWords } from '../../domain/request.ts'
import { deleteEach, deleteThese, updateEach } from '../mongo/bulk-writes.ts'
import type { StoreConnection } from '../mongo/connect.ts'

/** The person whose traces are looked for. `chat`: identities (`identityKey`) that they had linked. */
export interface Traced {
  id: string
  account_id: string
  email: string
  chat: readonly string[]
  /** Subject under which the e-mail address is counted. */
  counted: string
}

/** A finished request with the votes of the person, as it was read. */
interface VotedOn {
  id: string
  version: number
  votes: readonly Vote[]
  decision?: { id: string } | undefined
}

const RECORDED = { outbox_token: null }

/**
 * Finds and erases what documents hold of one person, on the driver and without indexes of its own: it is seldom. Each step can be
 * repeated.
 */
export function createPersonErasure(connection: StoreConnection) {
  const of = (name: string) => connection.collection<{ _id: string }>(name)
  const idsIn = async (name: string, filter: object, limit = 0): Promise<string[]> => {
    const options = { projection: { _id: 1 }, limit, sort: { _id: 1 } } as const
    return (await of(name).find(filter, options).toArray()).map(({ _id }) => _id)
  }
  return {
    /** Returns pending requests of the person's own account, and those that ask or concern the person. */
    pending({ id, account_id }: Pick<Traced, 'id' | 'account_id'>, limit: number): Promise<string[]> {
      const by = [
        { account_id },
        { 'requirement.approvers.user_id': id },
        { 'votes.user_id': id },
        { 'notify.user_id': id },
      ]
      return idsIn('requests', { status: 'pending', $or: by }, limit)
    },
    /** Returns the finished requests whose votes name the person, as the one who voted or for whom another did. */
    async voted(id: string): Promise<string[]> {
      const cast = await idsIn('requests', { 'votes.user_id': id })
      const asked = { 'requirement.approvers.user_id': id, 'votes.on_behalf_of': id }
      return [...new Set([...cast, ...(await idsIn('requests', asked))])]
    },
    /** Returns the requests whose outcome the caller had sent to the person, by whatever name. */
    notified: (id: string): Promise<string[]> => idsIn('requests', { 'notify.user_id': id }),
    /** Erases the comments of the person's votes; no signature covers them. @returns false when the request changed meanwhile */
    async forgetComments({ id, version, votes, decision }: VotedOn, userId: string): Promise<boolean> {
      const mine = votes.filter((vote) => vote.user_id === userId)
      const closed = mine.some(({ decision_id }) => decision_id === decision?.id)
      const $set = {
        votes: votes.map((vote) => (mine.includes(vote) ? withoutWords(vote) : vote)),
        ...(closed ? { 'decision.comment': null } : {}),
      }
      const same = { _id: id, version, status: { $ne: 'pending' as const }, ...RECORDED }
      const update = { $set, $inc: { version: 1 }, $currentDate: { moved_at: true as const } }
      return (await of('requests').updateOne(same, update)).matchedCount === 1
    },
    /** Erases the names by which callers had outcomes sent to the person. */
    async forgetNotified(id: string): Promise<void> {
      const named = { 'notify.user_id': id, 'notify.named': { $ne: ERASED } }
      await updateEach(of('requests'), named, { $set: { 'notify.named': ERASED } })
    },
    ...deletions(connection),
    ...ownAccount(connection),
  }
}

function deletions(connection: StoreConnection) {
  const of = (name: string) => connection.collection<{ _id: string }>(name)
  return {
    /**
     * Deletes cards of the person and of their account whose messages need no more edits, or can get none.
     * @param platforms those that this service writes to; no card of another one is ever edited
     * @returns how many cards are left, and how many were deleted
     */
    async deleteCards({ id, account_id }: Pick<Traced, 'id' | 'account_id'>, platforms: readonly string[]) {
      const theirs = { $or: [{ account_id }, { 'recipient.user_id': id }] }
      const deleted = await deleteEach(of('cards'), { $and: [theirs, settled(platforms)], ...RECORDED })
      return { deleted, left: await of('cards').countDocuments(theirs) }
    },
    /** Deletes what is kept for a while by the person, their address or their identities. */
    async deletePassing({ id, account_id, email, chat, counted }: Traced): Promise<void> {
      await deleteEach(of('challenges'), { $or: [{ user_id: id }, { 'profile.email': email }] })
      await deleteEach(of('enrollments'), { 'pending.email': email })
      await deleteEach(of('bootstraps'), { account_id, ...RECORDED })
      await deleteEach(of('pushes'), {
        user_id: id,
        state: { $in: ['sent', 'dropped', 'dead'] },
        ...RECORDED,
      })
      await deleteEach(of('push_devices'), { user_id: id, state: 'removed', ...RECORDED })
      await deleteEach(of('sessions'), { user_id: id, ended_at: { $gt: new Date(0) }, ...RECORDED })
      const links = chat.flatMap((key) => ['link', 'browser', 'channel'].map((kind) => `${kind}:${key}`))
      await deleteEach(of('chat_links'), { $or: [{ user_id: id }, { _id: { $in: links } }] })
      await deleteEach(of('chat_conversations'), conversations(email, chat))
      // The marks of the last minutes' messages: their ids are the platform's, and may hold the person's.
      const seen = await of('chat_seen')
        .find({}, { projection: { _id: 1 } })
        .toArray()
      const people = chat.map((key) => key.split(':').slice(2).join(':'))
      const marks = seen.map(({ _id }) => _id).filter((mark) => people.some((one) => mark.includes(one)))
      await deleteThese(of('chat_seen'), marks)
      const tries = chat.flatMap((key) => [`chat-look:${key}`, `chat-link:${key}`])
      await deleteEach(of('attempts'), { _id: { $in: [...tries, `backup-code:${id}`, counted] } })
    },
  }
}

/** The filter for cards that need no more edits, or can get none. */
function settled(platforms: readonly string[]): object {
  const upToDate = [{ message: null }, { $nor: [{ $expr: { $lt: ['$shown', '$wanted'] } }] }]
  return {
    $or: [
      { state: 'idle', stale: null, $or: upToDate },
      // The platform refused.
      { state: 'unreachable' },
      { platform: { $nin: [...platforms] }, state: { $ne: 'leased' } },
      // A notice is posted once and never edited.
      { 'recipient.kind': 'identity', state: { $ne: 'leased' } },
    ],
  }
}

function conversations(email: string, chat: readonly string[]): object {
  const held = chat.flatMap((key) => {
    const [platform, tenant, ...user] = key.split(':')
    const who = user.join(':')
    return [
      { platform, tenant, who },
      { platform, tenant, member: who },
    ]
  })
  return { kind: 'person', $or: [{ email }, ...held] }
}

function ownAccount(connection: StoreConnection) {
  const of = (name: string) => connection.collection<{ _id: string }>(name)
  return {
    /**
     * Deletes deliveries of the account, except callbacks whose attempts are not over: their callers still wait for the outcome.
     * @returns how many are left
     */
    async deleteDeliveries(account_id: string): Promise<number> {
      const over = [
        { state: { $in: ['delivered', 'dead', 'dropped'] } },
        { state: 'due', 'target.kind': { $ne: 'callback' } },
      ]
      await deleteEach(of('deliveries'), { account_id, $or: over, ...RECORDED })
      return of('deliveries').countDocuments({ account_id })
    },
    /** Erases the names of the account's keys, which are all revoked, and the addresses of its deleted webhooks. */
    async forgetNames(account_id: string): Promise<void> {
      await updateEach(of('api_keys'), { account_id }, { $set: { name: ERASED } })
      const gone = { account_id, state: 'deleted' }
      await updateEach(of('webhooks'), gone, {
        $set: { url: 'https://erased.invalid/', host: 'erased.invalid' },
      })
    },
    /** Counts what is there of the person, for `--dry-run` and the entry that says what was erased. */
    async count({ id, account_id }: Pick<Traced, 'id' | 'account_id'>) {
      const own = { 'recipient.user_id': id }
      const [requests, votes, cards, sessions] = await Promise.all([
        of('requests').countDocuments({ account_id }),
        of('requests').countDocuments({ 'votes.user_id': id }),
        of('cards').countDocuments({ $or: [{ account_id }, own] }),
        of('sessions').countDocuments({ user_id: id }),
      ])
      return { requests, votes, cards, sessions }
    },
  }
}
