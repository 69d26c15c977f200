import type { AuditEntry } from '../../domain/audit.ts'
import { type Card, type ChatPlatform, recipientKey } from '../../domain/chat.ts'
import {
  type ChatPlace,
  type ChatTrouble,
  isTroubleOf,
  PLATFORM_NAMES,
  troubleData,
} from '../../domain/chat-trouble.ts'
import { drawEvent } from '../../domain/event.ts'
import { given } from '../../domain/given.ts'
import { drawId } from '../../domain/identifier.ts'
import type { User } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'
import { waiterFor } from '../people/delegates.ts'
import { makeCards } from './follow-cards.ts'

/** The workspace, or a channel of the account, takes nothing from the app: told to its webhooks and its owner, once. */
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
    deps.log.warn({ account_id: accountId, ...place, reason }, 'a chat workspace or channel takes no cards')
}

/** It takes cards (again): told to every account that was told otherwise, and their cards are tried at once. */
export async function endTrouble(deps: FlowDeps, place: ChatPlace): Promise<void> {
  for (const account of await deps.accounts.inTrouble()) {
    for (const trouble of (account.chat_troubles ?? []).filter((one) => isTroubleOf(one, place))) {
      const at = deps.clock.now()
      const told = tell(deps, 'chat.restored', account, trouble, at)
      if (!(await deps.accounts.endTrouble(account.id, trouble, told))) continue
      deps.log.info({ account_id: account.id, ...place }, 'a chat workspace or channel takes cards again')
      await bringTo(deps, account.id, place)
    }
  }
}

/** What failed in the workspace, or found no place in the channel, is tried now. */
async function bringTo(
  { cards, clock }: FlowDeps,
  accountId: string,
  { platform, tenant, channel }: ChatPlace,
): Promise<void> {
  if (channel === undefined) return cards.hurry(accountId, platform, clock.now())
  const recipient = recipientKey({ platform, recipient: { kind: 'channel', tenant, channel } })
  await cards.wake({ recipient }, clock.now())
}

/**
 * The app came to channels of a workspace (`here`), or was taken out of them. A platform may report many at once, such as all
 * of a team: `isMeant` says which.
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
        await bringTo(deps, id, place)
      }
    }
  }
}

function tell(
  deps: Pick<FlowDeps, 'random'>,
  type: 'chat.unavailable' | 'chat.restored',
  { id, owner_id }: { id: string; owner_id: string },
  trouble: ChatTrouble,
  at: Date,
) {
  const { platform, tenant, channel, reason } = trouble
  const data = troubleData(trouble, type === 'chat.restored' ? at : undefined)
  // What names the owner is a notice to them as well (`domain/factor-notice.ts`).
  const where = channel === undefined ? '' : `, ${trouble.name ?? channel}`
  const name = `${PLATFORM_NAMES[platform]}${where}: ${reason}`
  const audit: AuditEntry = {
    eid: drawId(deps, 'evt'),
    type,
    at,
    actor: { kind: 'service' },
    account_id: id,
    subject: id,
    detail: { platform, tenant, ...given({ channel }), reason, user_id: owner_id, name },
  }
  return { audit, event: drawEvent(deps, type, at, data) }
}

const REFUSED: ReadonlySet<string | undefined> = new Set(['unavailable', 'unreachable'])

/** So long what is in trouble is remembered: a card that is accepted at once costs no look. */
const REMEMBERED_MS = 60_000

export type TroubleWatch = ReturnType<typeof createTroubleWatch>

/**
 * Notes what attempts at cards say about the workspaces and channels they went to: one watch of this process. A card that was refused before and is accepted now ends the trouble at once; any other, within
 * a minute, also one that another process or an earlier run has noted.
 */
export function createTroubleWatch(deps: FlowDeps) {
  let known: readonly ChatTrouble[] = []
  let until = Number.NEGATIVE_INFINITY
  const inTrouble = async (place: ChatPlace): Promise<boolean> => {
    const now = deps.clock.now().getTime()
    if (now >= until) {
      known = (await deps.accounts.inTrouble()).flatMap(({ chat_troubles = [] }) => chat_troubles)
      until = now + REMEMBERED_MS
    }
    // What one method may not do, others may.
    return known.some((one) => isTroubleOf(one, place) && one.reason !== 'missing_scope')
  }
  const quietly = async (work: () => Promise<void>): Promise<void> => {
    await work().catch((error: unknown) =>
      deps.log.warn({ error }, 'the state of a chat workspace was not noted'),
    )
  }
  return {
    /** It refused the app itself. */
    failed: ({ account_id, platform }: Card, where: Omit<ChatPlace, 'platform'>, reason: string) =>
      quietly(async () => {
        await beginTrouble(deps, account_id, { platform, ...where, reason })
        until = Number.NEGATIVE_INFINITY
      }),
    /** It accepted something. */
    worked: ({ platform, attempts }: Card, { tenant, channel }: Omit<ChatPlace, 'platform'>) =>
      quietly(async () => {
        const workspace = { platform, tenant }
        for (const place of channel === undefined ? [workspace] : [workspace, { ...workspace, channel }]) {
          if (!REFUSED.has(attempts.at(-1)?.outcome) && !(await inTrouble(place))) continue
          await endTrouble(deps, place)
          until = Number.NEGATIVE_INFINITY
        }
      }),
  }
}

/** Requests that are brought at once: the oldest, as in a waiting list. */
const MOST = 500

/**
 * Brings what waits in an account to a workspace that has just got the app: cards that were never made, and those for which
 * there was no place.
 */
export async function bringToAccount(
  deps: FlowDeps,
  accountId: string,
  platform: ChatPlatform,
): Promise<void> {
  const waiting = await deps.history.page({ account_id: accountId, status: 'pending', limit: MOST })
  await makeCards(deps, waiting)
  const ids = waiting.map(({ id }) => id)
  await deps.cards.wake({ requestIds: ids, platform }, deps.clock.now())
  await deps.cards.hurry(accountId, platform, deps.clock.now())
}

/** Cards brought to one person at once: of what ends first, as in their waiting list. */
const MOST_CARDS = 100

/**
 * What waits for a person who can be reached from now on is posted, what was addressed by e-mail no longer asks to link, and
 * what could not be edited while they were away is. Never throws: what made them reachable stands without that, too.
 */
export async function bringToPerson(deps: FlowDeps, person: User, platform: ChatPlatform): Promise<void> {
  const { cards, requests, clock, log } = deps
  const { id } = person
  try {
    const recipient = recipientKey({ platform, recipient: { kind: 'approver', user_id: id } })
    const requested = await requests.pendingFor(await waiterFor(deps, person), MOST_CARDS)
    const waiting = [...requested, ...(await deps.bootstraps.waitingFor(person.account_id))]
    if (waiting.length > 0)
      await cards.renew(
        waiting.map((each) => each.id),
        recipient,
        clock.now(),
      )
    await cards.wake({ recipient }, clock.now())
  } catch (error) {
    log.warn({ error, user_id: id }, 'cards that waited for a person were not brought')
  }
}
