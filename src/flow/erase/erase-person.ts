import type { AuditActor } from '../../domain/audit.ts'
import { identityKey } from '../../domain/chat.ts'
import { isId } from '../../domain/identifier.ts'
import { cardSubjectOf, ERASED } from '../../domain/request.ts'
import { tombstoneAddress, type User } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'
import { resetFound } from '../joining/invite-user.ts'
import { removeFromAccounts, unlessGone } from '../joining/members.ts'
import { emptyAccount } from '../joining/take-over.ts'
import { changeFresh, drawUserHandle, personAudit } from '../people/person.ts'
import { createRelay, NO_LOOPS } from '../relay/relay.ts'
import { expireRequests } from '../requests/settle-request.ts'
import { eraseRecords, findRecords, pastIdentities } from './erase-records.ts'
import { eraseRequest } from './erase-requests.ts'

/** Why a person cannot be erased yet, with the ids of what is in the way. */
type Refused = { refused: 'unknown' } | { refused: 'pending' | 'keys' | 'members'; user: User; ids: string[] }

/** What there is, or was, of a person. */
interface Counts {
  requests: number
  votes: number
  /** Gone, and not counted any more, once the person is erased; so are sessions. */
  cards?: number
  sessions?: number
  /** Records of the trail. */
  records: number
}

/** What is on its way: requests whose callback or records are, cards to be edited, deliveries whose attempts are not over. */
export interface Left {
  requests: number
  cards: number
  deliveries: number
}

interface PersonErasure {
  refused?: undefined
  user: User
  counts: Counts
  left: Left
}

/** Ids named of what is in the way, and requests erased in one go. */
const NAMED = 5
const SLICE = 50

/** Longer than any request lives. */
const YEAR_MS = 366 * 86_400_000

/**
 * Erases everything that names a person: factors, name, address, chat identities, devices, the texts of their own account's
 * requests, the comments of their votes, and their records in the trail. Their id, their reference, receipts and hashes stay, so
 * that every proof of what they decided holds. Each step is harmless alone and can be repeated: a later call does what an earlier
 * one left. The address goes last, since the person is found by it.
 * @param whom an e-mail address in its normalised spelling, or the id of a person
 * @param dry only counts
 */
export async function erasePerson(
  deps: FlowDeps,
  whom: string,
  actor: AuditActor,
  dry = false,
): Promise<PersonErasure | Refused> {
  const found = isId('usr', whom) ? await deps.users.find(whom) : await deps.users.findByEmail(whom)
  if (found === undefined) return { refused: 'unknown' }
  // No service may run that does so, and what has lapsed can neither be decided nor withdrawn.
  if (!dry) await expireRequests(deps)
  const inTheWay = await whyNot(deps, found)
  if (inTheWay !== undefined) return inTheWay
  if (dry) return { user: found, counts: await count(deps, found), left: NOTHING }
  const relay = createRelay(deps, NO_LOOPS)
  const user = await takeAway(deps, found, actor)
  await relay.run()
  // One that was made before the person left the account.
  const late = await whyNot(deps, user)
  if (late !== undefined) return late
  const requests = (await eraseOwnRequests(deps, user, actor)) + (await forgetComments(deps, user))
  await redraw(deps, user)
  await relay.run()
  await deps.personErasure.deletePassing(await traced(deps, user))
  const platforms = deps.chats.map(({ platform }) => platform)
  const { left: cards } = await deps.personErasure.deleteCards(user, platforms)
  const deliveries = await deps.personErasure.deleteDeliveries(user.account_id)
  const left = { requests, cards, deliveries }
  if (requests + cards + deliveries > 0) return { user, counts: await count(deps, user), left }
  return { ...(await finish(deps, user, actor, relay)), left }
}

const NOTHING: Left = { requests: 0, cards: 0, deliveries: 0 }

async function whyNot(deps: FlowDeps, user: User): Promise<Refused | undefined> {
  const pending = await deps.personErasure.pending(user, NAMED)
  if (pending.length > 0) return { refused: 'pending', user, ids: pending }
  const keys = await deps.apiKeys.list(user.account_id)
  const live = keys.filter(({ revoked_at, internal }) => revoked_at === null && internal !== true)
  if (live.length > 0) return { refused: 'keys', user, ids: live.map(({ id }) => id) }
  const { members = [] } = (await deps.accounts.find(user.account_id)) ?? {}
  if (members.length > 0) return { refused: 'members', user, ids: members.map(({ user_id }) => user_id) }
  return undefined
}

async function count(deps: FlowDeps, user: User): Promise<Counts> {
  const { found, told } = await findRecords(deps, await recordsOf(deps, user))
  const records = new Set([...told, ...found.map(({ seq }) => seq)]).size
  return { ...(await deps.personErasure.count(user)), records }
}

async function recordsOf(deps: FlowDeps, user: User) {
  const { id, account_id } = user
  const [chat, notified] = [await identitiesOf(deps, user), await deps.personErasure.notified(id)]
  return { id, account_id, chat, notified }
}

/** Returns the identities that the person has linked, also those that they unlinked long ago: these are in the trail alone. */
async function identitiesOf(deps: FlowDeps, { id, chat, erasing }: User): Promise<string[]> {
  const past = await pastIdentities(deps, id)
  return [...new Set([...chat.map(identityKey), ...(erasing?.chat ?? []), ...past])]
}

async function traced(deps: FlowDeps, user: User) {
  const { id, account_id, email } = user
  const counted = `bootstrap:${deps.vault.hash('bootstrap-email', email)}`
  return { id, account_id, email, chat: await identitiesOf(deps, user), counted }
}

/** Takes away what lets the person in, their memberships and both names. The identities are noted first: a reset forgets them. */
async function takeAway(deps: FlowDeps, found: User, actor: AuditActor): Promise<User> {
  const { id, account_id } = found
  // Another command may have erased them meanwhile.
  const user = await changeFresh(deps.users, id, async (person) =>
    person.erased_at !== undefined
      ? undefined
      : { fields: { erasing: { ...person.erasing, chat: await identitiesOf(deps, person) } }, audit: [] },
  )
  if (user.erased_at === undefined) await resetFound(deps, user, actor)
  await removeFromAccounts(deps, found, actor)
  await unlessGone(
    changeFresh(deps.accounts, account_id, ({ name }) =>
      name === ERASED ? undefined : { fields: { name: ERASED }, audit: [] },
    ),
  )
  return changeFresh(deps.users, id, ({ name }) =>
    name === ERASED ? undefined : { fields: { name: ERASED }, audit: [] },
  )
}

/**
 * Erases the texts of all requests of the person's own account: each holds the account's name, which its hash in the trail covers.
 * @returns how many could not be erased yet
 */
async function eraseOwnRequests(deps: FlowDeps, user: User, actor: AuditActor): Promise<number> {
  const until = new Date(deps.clock.now().getTime() + YEAR_MS)
  const from = { account_id: user.account_id, until, limit: SLICE, erased: false }
  let left = 0
  for (let after: { created_at: Date; id: string } | undefined; ; ) {
    const found = await deps.erasure.finished({ ...from, after })
    for (const { id } of found) {
      const done = await eraseRequest(deps, id, actor)
      if (done.refused !== undefined) left += 1
    }
    after = found.at(-1)
    if (after === undefined) return left
  }
}

/** Erases the comments of the person's votes, after the deliveries that hold them. @returns how many requests are left */
async function forgetComments(deps: FlowDeps, { id }: User): Promise<number> {
  let left = 0
  for (const slice of slicesOf(await deps.personErasure.voted(id))) {
    for (const request of await deps.requests.findMany(slice)) {
      if (!request.votes.some(({ user_id, comment }) => user_id === id && comment !== null)) continue
      await deps.erasure.deleteDeliveries([request.id])
      const { open_deliveries } = await deps.erasure.count(request.id)
      if (open_deliveries > 0 || !(await deps.personErasure.forgetComments(request, id))) left += 1
    }
  }
  return left
}

function slicesOf(ids: readonly string[]): string[][] {
  const starts = Array.from({ length: Math.ceil(ids.length / SLICE) }, (_, index) => index * SLICE)
  return starts.map((start) => ids.slice(start, start + SLICE))
}

/** Has the posted messages edited that show the person's name, and those to the person, once. */
async function redraw(deps: FlowDeps, { id, erasing, erased_at }: User): Promise<void> {
  if (erasing?.redrawn || erased_at !== undefined) return
  for (const slice of slicesOf(await deps.personErasure.voted(id))) {
    const requestIds = (await deps.requests.findMany(slice)).map(cardSubjectOf)
    await deps.cards.redraw({ requestIds: [...new Set(requestIds)] }, deps.clock.now())
  }
  await deps.cards.redraw({ userId: id }, deps.clock.now())
  await changeFresh(deps.users, id, ({ erasing: { chat } = { chat: [] }, erased_at: at }) =>
    at === undefined ? { fields: { erasing: { chat, redrawn: true as const } }, audit: [] } : undefined,
  )
}

/** Erases what the steps before still needed: the account's places in chat, the trail's records, and the address. */
async function finish(
  deps: FlowDeps,
  user: User,
  actor: AuditActor,
  relay: Pick<ReturnType<typeof createRelay>, 'run'>,
): Promise<{ user: User; counts: Counts }> {
  await emptyAccount(deps, user, actor)
  await relay.run()
  await deps.personErasure.forgetNames(user.account_id)
  // What these last steps, and a service meanwhile, have left.
  await deps.personErasure.deletePassing(await traced(deps, user))
  // The records first: they hold the hash that covers the name by which a caller notified the person.
  const records = await eraseRecords(deps, await recordsOf(deps, user), actor)
  await deps.personErasure.forgetNotified(user.id)
  const { requests, votes } = await deps.personErasure.count(user)
  const counts = { requests, votes, records }
  const erased = await changeFresh(deps.users, user.id, (person) => {
    // Somebody let the person in again meanwhile: the next call takes that away.
    if (person.erased_at !== undefined || isBack(person)) return undefined
    const gone = { email: tombstoneAddress(person.id), user_handle: drawUserHandle(deps), erasing: null }
    return {
      fields: { ...gone, erased_at: deps.clock.now() },
      audit: [personAudit(deps, 'user.erased', person, { actor, detail: counts })],
    }
  })
  await relay.run()
  return { user: erased, counts }
}

function isBack({ name, passkeys, totp, chat }: User): boolean {
  return name !== ERASED || passkeys.length > 0 || totp !== undefined || chat.length > 0
}
