import type { Account } from '../../domain/account.ts'
import { drawEntry } from '../../domain/audit.ts'
import { type Card, type ChatPlatform, recipientKey, UNKNOWN_TENANT } from '../../domain/chat.ts'
import {
  type ChatPlace,
  type ChatTrouble,
  isTroubleOf,
  PLATFORM_NAMES,
  troubleData,
} from '../../domain/chat-trouble.ts'
import { drawEvent } from '../../domain/event.ts'
import { given } from '../../domain/given.ts'
import { cardSubjectOf } from '../../domain/request.ts'
import type { User } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'
import { inboxScopeOf } from '../people/delegates.ts'
import { servedTo, serves } from '../requests/notify-target.ts'
import { makeCards } from './follow-cards.ts'

/** Notes that the workspace or channel accepts nothing from the app, and tells webhooks and the account's owner once. */
export async function beginTrouble(
  deps: FlowDeps,
  accountId: string,
  { reason, ...place }: Omit<ChatTrouble, 'since' | 'name'>,
): Promise<void> {
  const account = await deps.accounts.find(accountId)
  if (account === undefined) return
  const { name } = account.channels.find((channel) => isTroubleOf(channel, place)) ?? {}
  const trouble = { ...place, ...given({ name }), reason, since: deps.clock.now() }
  const told = tell(deps, 'chat.unavailable', account, trouble, trouble.since)
  if (await deps.accounts.beginTrouble(accountId, trouble, told))
    deps.log.warn({ account_id: accountId, ...place, reason }, 'a chat workspace or channel refuses cards')
}

/** Notes that it accepts cards again, tells every account that was told otherwise, and has their cards tried at once. */
export async function endTrouble(deps: FlowDeps, place: ChatPlace): Promise<void> {
  for (const { account, trouble } of await troublesThatMayEnd(deps, (one) => isTroubleOf(one, place))) {
    const at = deps.clock.now()
    const told = tell(deps, 'chat.restored', account, trouble, at)
    if (!(await deps.accounts.endTrouble(account.id, trouble, told))) continue
    deps.log.info({ account_id: account.id, ...place }, 'a chat workspace or channel accepts cards again')
    await queueAt(deps, account.id, place)
  }
}

/** Lists the troubles that are meant. One in a workspace that the account has lost lasts, although others' cards are accepted there. */
async function troublesThatMayEnd(
  deps: FlowDeps,
  isMeant: (trouble: ChatTrouble) => boolean,
): Promise<{ account: Account; trouble: ChatTrouble }[]> {
  const found: { account: Account; trouble: ChatTrouble }[] = []
  for (const account of await deps.accounts.inTrouble())
    for (const trouble of (account.chat_troubles ?? []).filter(isMeant))
      if (await isServed(deps, account.id, trouble)) found.push({ account, trouble })
  return found
}

/** Checks whether the account's cards go to the workspace. */
async function isServed(
  deps: FlowDeps,
  accountId: string,
  { platform, tenant }: ChatPlace,
): Promise<boolean> {
  return tenant === UNKNOWN_TENANT || serves(await servedTo(deps, accountId), platform, tenant)
}

/** Makes the cards due that failed in the workspace or channel. */
async function queueAt(
  { cards, clock }: FlowDeps,
  accountId: string,
  { platform, tenant, channel }: ChatPlace,
): Promise<void> {
  if (channel !== undefined) {
    const recipient = recipientKey({ platform, recipient: { kind: 'channel', tenant, channel } })
    await cards.retryUnreachable({ recipient }, clock.now())
  }
  await cards.hurry(accountId, platform, clock.now())
}

/**
 * Tells whether the account's cards go to the workspace; if not, whether it lost the workspace or gave it up. What fails in one
 * that was given up is no trouble.
 */
export async function standingIn(
  deps: FlowDeps,
  accountId: string,
  place: ChatPlace,
): Promise<'served' | 'lost' | 'given_up'> {
  if (await isServed(deps, accountId, place)) return 'served'
  const { chat_troubles = [] } = (await deps.accounts.find(accountId)) ?? {}
  return chat_troubles.some((one) => isTroubleOf(one, place)) ? 'lost' : 'given_up'
}

/**
 * Notes that the app was added to channels of a workspace (`here`) or removed from them. A platform may report many at once,
 * such as all channels of a team; `isMeant` selects them.
 */
export async function noteChannels(
  deps: FlowDeps,
  { platform, tenant }: ChatPlace,
  here: boolean,
  isMeant: (channel: string) => Promise<boolean>,
): Promise<void> {
  for (const { id, channels } of await deps.accounts.withChannels(tenant)) {
    for (const { channel, ...other } of channels) {
      if (other.platform !== platform || other.tenant !== tenant || !(await isMeant(channel))) continue
      const place = { platform, tenant, channel }
      if (!here) await beginTrouble(deps, id, { ...place, reason: 'app_removed' })
      else {
        await endTrouble(deps, place)
        await queueAt(deps, id, place)
      }
    }
  }
}

function tell(
  deps: FlowDeps,
  type: 'chat.unavailable' | 'chat.restored',
  { id, owner_id }: { id: string; owner_id: string },
  trouble: ChatTrouble,
  at: Date,
) {
  const { platform, tenant, channel, reason } = trouble
  const data = troubleData(trouble, type === 'chat.restored' ? at : undefined)
  // An entry that names the owner is also a notice to them (`domain/factor-notice.ts`).
  const where = channel === undefined ? '' : `, ${trouble.name ?? channel}`
  const name = `${PLATFORM_NAMES[platform]}${where}`
  const audit = drawEntry(deps, {
    type,
    at,
    actor: { kind: 'service' },
    account_id: id,
    subject: id,
    detail: { platform, tenant, ...given({ channel }), reason, user_id: owner_id, name },
  })
  return { audit, event: drawEvent(deps, type, at, data) }
}

const REFUSED: ReadonlySet<string | undefined> = new Set(['unavailable', 'unreachable'])

/** Milliseconds for which known troubles are remembered, so that an accepted card needs no query. */
const REMEMBERED_MS = 60_000

export type TroubleWatch = ReturnType<typeof createTroubleWatch>

/**
 * Creates the watch of this process, which notes what attempts at cards tell about their workspaces and channels. An accepted
 * card that was refused before ends the trouble at once; any other accepted card ends it within a minute, even if another process
 * or an earlier run noted it.
 */
export function createTroubleWatch(deps: FlowDeps) {
  let known: { accountId: string; trouble: ChatTrouble; served?: boolean }[] = []
  let until = Number.NEGATIVE_INFINITY
  const inTrouble = async (place: ChatPlace): Promise<boolean> => {
    const now = deps.clock.steady()
    if (now >= until) {
      known = (await deps.accounts.inTrouble()).flatMap(({ id, chat_troubles = [] }) =>
        chat_troubles.map((trouble) => ({ accountId: id, trouble })),
      )
      until = now + REMEMBERED_MS
    }
    for (const one of known) {
      // A missing scope concerns one method; other methods may still work.
      if (!isTroubleOf(one.trouble, place) || one.trouble.reason === 'missing_scope') continue
      one.served ??= await isServed(deps, one.accountId, one.trouble)
      if (one.served) return true
    }
    return false
  }
  const quietly = async (work: () => Promise<void>): Promise<void> => {
    await work().catch((error: unknown) =>
      deps.log.warn({ error }, 'recording the state of a chat workspace failed'),
    )
  }
  return {
    /** Reports that the place refused the app itself. */
    failed: ({ account_id, platform }: Card, where: Omit<ChatPlace, 'platform'>, reason: string) =>
      quietly(async () => {
        const place = { platform, ...where }
        if ((await standingIn(deps, account_id, place)) === 'given_up') return
        await beginTrouble(deps, account_id, { ...place, reason })
        until = Number.NEGATIVE_INFINITY
      }),
    /** Reports that the place accepted a call. */
    worked: (card: Card, { tenant, channel }: Omit<ChatPlace, 'platform'>) =>
      quietly(async () => {
        const { platform, attempts } = card
        const workspace = { platform, tenant }
        for (const place of channel === undefined ? [workspace] : [workspace, { ...workspace, channel }]) {
          if (!REFUSED.has(attempts.at(-1)?.outcome) && !(await inTrouble(place))) continue
          await endTrouble(deps, place)
          until = Number.NEGATIVE_INFINITY
        }
        if (channel !== undefined) await deps.cards.retryEdits(recipientKey(card), deps.clock.now())
      }),
  }
}

/** The most requests handled at once, the oldest first. */
const MOST = 500

/**
 * Queues the pending requests of an account for a workspace that has just been connected: makes missing cards and retries those
 * that had no address.
 */
export async function queueForAccount(
  deps: FlowDeps,
  accountId: string,
  platform: ChatPlatform,
): Promise<void> {
  const waiting = await deps.history.page({ account_id: accountId, status: 'pending', limit: MOST })
  await makeCards(deps, waiting)
  const ids = waiting.map(cardSubjectOf)
  await deps.cards.retryUnreachable({ requestIds: ids, platform }, deps.clock.now())
  await deps.cards.hurry(accountId, platform, deps.clock.now())
}

/** The most cards queued for one person at once, the soonest deadline first. */
const MOST_CARDS = 100

/**
 * Queues the cards of a person who has just become reachable: unposted ones are posted, those addressed by e-mail no
 * longer ask to link, and edits that failed are made. Never throws, since the change that made them reachable stands anyway.
 */
export async function queueForPerson(deps: FlowDeps, person: User, platform: ChatPlatform): Promise<void> {
  const { cards, requests, clock, log } = deps
  const { id } = person
  try {
    const recipient = recipientKey({ platform, recipient: { kind: 'approver', user_id: id } })
    const requested = await requests.pendingFor(await inboxScopeOf(deps, person), MOST_CARDS)
    const consents = await deps.bootstraps.waitingFor(person.account_id)
    const waiting = [...new Set(requested.map(cardSubjectOf)), ...consents.map((each) => each.id)]
    if (waiting.length > 0) await cards.renew(waiting, recipient, clock.now())
    await cards.retryUnreachable({ recipient }, clock.now())
  } catch (error) {
    log.warn({ error, user_id: id }, 'queueing the cards that wait for a person failed')
  }
}
