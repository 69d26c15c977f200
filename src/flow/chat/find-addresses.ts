import { type Card, UNKNOWN_TENANT } from '../../domain/chat.ts'
import type { User } from '../../domain/user.ts'
import type { ChatAddress, ChatOutcome, ChatPort } from '../chat-ports.ts'
import type { Lookup } from './lookup-cache.ts'

/** Workspaces that are asked for one person. */
const MOST_TENANTS = 5

/** Where a card could go, the best place first, or why nobody knows yet. Empty: nowhere. */
export type Addresses =
  | { list: ChatAddress[]; byEmail: boolean }
  | { failed: ChatOutcome<never> & { ok: false } }

/**
 * Where a card could be posted now. An approver is where they say they are, newest link first; only somebody without a link
 * in any workspace of the account is looked up by e-mail address, which addresses the card and authorises nothing (T37).
 */
export async function findAddresses(
  chat: ChatPort,
  card: Pick<Card, 'account_id' | 'recipient'>,
  person: User | undefined,
  lookup: Lookup,
): Promise<Addresses> {
  const { platform } = chat
  const tenants = await chat.tenantsOf(card.account_id)
  if (tenants.includes(UNKNOWN_TENANT)) return { failed: { ok: false, outcome: 'failed', duration_ms: 0 } }
  const { recipient } = card
  if (recipient.kind === 'channel') {
    const { tenant, channel } = recipient
    return { list: tenants.includes(tenant) ? [{ platform, tenant, channel }] : [], byEmail: false }
  }
  if (person === undefined) return { list: [], byEmail: false }
  const linked = person.chat
    .filter((identity) => identity.platform === platform && tenants.includes(identity.tenant))
    .sort((a, b) => b.linked_at.getTime() - a.linked_at.getTime())
    .map(({ tenant, user }) => ({ platform, tenant, user }))
  if (linked.length > 0) return { list: linked, byEmail: false }
  return lookUp(chat, tenants.slice(0, MOST_TENANTS), person.email, lookup)
}

/** The first workspace that knows the address. One that cannot be asked now may be the one. */
async function lookUp(
  chat: ChatPort,
  tenants: readonly string[],
  email: string,
  lookup: Lookup,
): Promise<Addresses> {
  let failed: (ChatOutcome<never> & { ok: false }) | undefined
  for (const tenant of tenants) {
    const answer = await lookup.find(chat, tenant, email)
    if (!answer.ok && answer.outcome !== 'unreachable') failed ??= answer
    if (answer.ok && answer.value !== undefined) return { list: [answer.value], byEmail: true }
  }
  return failed === undefined ? { list: [], byEmail: true } : { failed }
}
