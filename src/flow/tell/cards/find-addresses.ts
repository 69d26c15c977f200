import { type Card, type ChatIdentity, identityKey, UNKNOWN_TENANT } from '../../../domain/chat.ts'
import type { User } from '../../../domain/user.ts'
import type { ChatAddress, ChatOutcome, ChatPort, Clock } from '../../../ports/ports.ts'

/** The most workspaces that are asked for one person. */
const MOST_TENANTS = 5

/** The addresses a card could go to, the best one first, or the reason why they are not known yet. Empty: there is none. */
export type Addresses = FoundAddresses | { failed: NotFound }

export interface FoundAddresses {
  list: ChatAddress[]
  byEmail: boolean
  /** Linked identities (`identityKey`) that could not be reached. */
  instead_of?: string[]
}

type NotFound = ChatOutcome<never> & { ok: false } & { tenant?: string }

/**
 * Finds where a card could be posted now: at the identities an approver has linked, the newest first. Only a person without a
 * link in any workspace of the account is looked up by e-mail address, which addresses the card and authorises nothing (T37).
 */
export async function findAddresses(
  chat: ChatPort,
  card: Pick<Card, 'account_id' | 'recipient'>,
  person: User | undefined,
  lookup: Lookup,
): Promise<Addresses> {
  const { platform } = chat
  const tenants = await chat.tenantsOf(card.account_id)
  if (tenants.includes(UNKNOWN_TENANT)) {
    // This call tells why no workspace is known: the token may be invalid.
    const asked = await chat.lookup(UNKNOWN_TENANT, '')
    const failed = asked.ok ? ({ ok: false, outcome: 'failed', duration_ms: 0 } as const) : asked
    return { failed: { ...failed, tenant: UNKNOWN_TENANT } }
  }
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

/**
 * Finds a person by e-mail address although they have linked identities, because the platform knows none of these any more. As
 * for a person who never linked, the address only addresses the card (T37). @returns undefined when that leads nowhere else
 */
export async function findInstead(
  chat: ChatPort,
  { account_id, recipient }: Pick<Card, 'account_id' | 'recipient'>,
  person: User | undefined,
  gone: readonly ChatAddress[],
  lookup: Lookup,
): Promise<Addresses | undefined> {
  if (recipient.kind !== 'approver' || person === undefined) return undefined
  const instead_of = gone.flatMap((one) => ('user' in one ? [identityKey(one)] : []))
  const tenants = await chat.tenantsOf(account_id)
  const found = await lookUp(chat, tenants.slice(0, MOST_TENANTS), person.email, lookup)
  if ('failed' in found) return found
  const list = found.list.filter((one) => 'user' in one && !instead_of.includes(identityKey(one)))
  return list.length === 0 ? undefined : { list, byEmail: true, instead_of }
}

/** Finds the first workspace that knows the address. Fails if a workspace that cannot be asked now might know it. */
async function lookUp(
  chat: ChatPort,
  tenants: readonly string[],
  email: string,
  lookup: Lookup,
): Promise<Addresses> {
  let failed: NotFound | undefined
  for (const tenant of tenants) {
    const answer = await lookup.find(chat, tenant, email)
    if (!answer.ok && answer.outcome !== 'unreachable') failed ??= { ...answer, tenant }
    if (answer.ok && answer.value !== undefined) return { list: [answer.value], byEmail: true }
  }
  return failed === undefined ? { list: [], byEmail: true } : { failed }
}

const FOUND_MS = 24 * 3_600_000
/** Milliseconds, short so that a person who is invited to the workspace need not wait for a day. */
const NOT_FOUND_MS = 10 * 60_000
const MOST = 10_000

interface Remembered {
  identity: ChatIdentity | undefined
  until: number
}

export type Lookup = ReturnType<typeof createLookup>

/**
 * Looks people up by e-mail address through a cache of this process, since platforms allow few such queries a minute: a person
 * who was found is kept for 24 hours, one who was not for ten minutes, a failure never. Platforms whose people we know ourselves
 * are not cached: a person who has just added the app gets the next card.
 */
export function createLookup(clock: Clock) {
  const known = new Map<string, Remembered>()
  return {
    async find(
      chat: ChatPort,
      tenant: string,
      email: string,
    ): Promise<ChatOutcome<ChatIdentity | undefined>> {
      if (chat.lookupIsLocal) return chat.lookup(tenant, email)
      const key = JSON.stringify([chat.platform, tenant, email])
      const now = clock.steady()
      const remembered = known.get(key)
      if (remembered !== undefined && remembered.until > now)
        return { ok: true, value: remembered.identity, duration_ms: 0 }
      const answer = await chat.lookup(tenant, email)
      if (!answer.ok) return answer
      const until = now + (answer.value === undefined ? NOT_FOUND_MS : FOUND_MS)
      known.delete(key)
      const oldest = known.size < MOST ? undefined : known.keys().next().value
      if (oldest !== undefined) known.delete(oldest)
      known.set(key, { identity: answer.value, until })
      return answer
    },
    /** Forgets an identity to which a message did not arrive, so that the platform is asked again. */
    forget({ platform, tenant, user }: ChatIdentity): void {
      for (const [key, { identity }] of known) {
        const same = identity?.platform === platform && identity.tenant === tenant && identity.user === user
        if (same) known.delete(key)
      }
    },
  }
}
