import { type Card, type CardRecipient, type ChatPlatform, UNKNOWN_TENANT } from '../../domain/chat.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import { drawId, type FlowDeps } from '../deps.ts'
import { whomToPush } from '../push/whom-to-push.ts'

type AddressDeps = Pick<FlowDeps, 'accounts' | 'users' | 'chats' | 'clock' | 'random'>

/** A request, and towards whom its key is silent now (`domain/attention.ts`): they get no card. */
export interface Asked {
  request: ApprovalRequest
  quiet: ReadonlyMap<string, unknown>
}

/**
 * The cards of new requests: on every platform that serves the account, one for each approver and for whoever stands in now
 * for one of them, and one for each channel of the account. Where on the platform somebody is, is found out when the card is
 * posted. Asks no platform anything.
 */
export async function addressCards(deps: AddressDeps, asked: readonly Asked[]): Promise<Card[]> {
  const accounts = [...new Set(asked.map(({ request }) => request.account_id))]
  const served = new Map(
    await Promise.all(accounts.map(async (id) => [id, await servedBy(deps, id)] as const)),
  )
  const cards = asked.map(async ({ request, quiet }) => {
    const platforms = served.get(request.account_id) ?? []
    if (platforms.length === 0) return []
    const people = (await whomToTell(deps, request)).filter((id) => !quiet.has(id))
    const approvers = people.map((user_id) => ({ kind: 'approver' as const, user_id }))
    return platforms.flatMap(({ platform, channels }) =>
      [...approvers, ...channels].map((recipient) => newCard(deps, request, platform, recipient)),
    )
  })
  return (await Promise.all(cards)).flat()
}

/** Everybody named, and the delegates it waits for. */
async function whomToTell(deps: AddressDeps, request: ApprovalRequest): Promise<string[]> {
  const named = request.requirement.approvers.map(({ user_id }) => user_id)
  return [...new Set([...named, ...(await whomToPush(deps, request, deps.clock.now()))])]
}

/** The platforms that serve the account, with its channels there. */
export async function servedBy(deps: Pick<AddressDeps, 'accounts' | 'chats'>, accountId: string) {
  const tenants = await Promise.all(deps.chats.map((chat) => chat.tenantsOf(accountId)))
  if (tenants.every(({ length }) => length === 0)) return []
  const account = await deps.accounts.find(accountId)
  return deps.chats.flatMap(({ platform }, index) => {
    const served = tenants[index] ?? []
    if (served.length === 0) return []
    const anywhere = served.includes(UNKNOWN_TENANT)
    const channels = (account?.channels ?? [])
      .filter((channel) => channel.platform === platform && (anywhere || served.includes(channel.tenant)))
      .map(({ tenant, channel }) => ({ kind: 'channel' as const, tenant, channel }))
    return [{ platform, channels }]
  })
}

/** A card that was not posted yet. */
export function newCard(
  deps: Pick<AddressDeps, 'clock' | 'random'>,
  request: Pick<ApprovalRequest, 'id' | 'account_id' | 'version'>,
  platform: ChatPlatform,
  recipient: CardRecipient,
): Card {
  const now = deps.clock.now()
  return {
    id: drawId(deps, 'crd'),
    account_id: request.account_id,
    request_id: request.id,
    platform,
    recipient,
    state: 'due',
    wanted: request.version,
    shown: 0,
    replies: [],
    news: 0,
    next_at: now,
    tries: 0,
    claim: 0,
    attempts: [],
    created_at: now,
    audit: [],
  }
}
