import { type ChatLink, type ChatPlatform, identityKey, type LinkedIdentity } from '../../domain/chat.ts'
import { refusal } from '../../domain/errors.ts'
import type { FlowDeps } from '../deps.ts'
import { changeFresh, changeOwn, personAudit } from '../people/person.ts'
import type { SignedIn } from '../people/sessions.ts'
import { checkOperation, type Proof, proveFactor } from '../people/step-up.ts'
import { queueForPerson } from '../tell/trouble.ts'
import { useUp } from './chat-links.ts'

/** What a signed-in person presents to use a one-time link. */
export interface LinkUse {
  link: ChatLink
  proof: Proof | undefined
  address: string
}

/**
 * Links the identity that asked for the link to the signed-in person, after a fresh proof for this very link (T37). From then
 * on cards go to that identity; it never decides and never signs in. Linking again refreshes the names.
 * @throws Refusal `identity_taken`, `identity_limit`, `chat_link_invalid`, and those of `proveFactor`
 */
export async function linkIdentity(
  deps: FlowDeps,
  who: SignedIn,
  { link, proof, address }: LinkUse,
): Promise<LinkedIdentity> {
  const key = identityKey(link.identity)
  const holder = await deps.users.findByIdentity(key)
  if (holder !== undefined && holder.id !== who.user.id) throw refusal('identity_taken')
  const stepUp = { operation: 'chat.link', target: link.id } as const
  await proveFactor(deps, who, stepUp, proof, address)
  await useUp(deps, link)
  const { person, workspace } = link.shown_as
  const linked = { ...link.identity, linked_at: deps.clock.now(), shown_as: { person, workspace } }
  const changed = await changeOwn(deps, who, (user) => {
    const others = user.chat.filter((identity) => identityKey(identity) !== key)
    checkOperation({ ...user, chat: others }, stepUp)
    const audit = personAudit(deps, 'chat.linked', user, { address, detail: { identity: key } })
    return { fields: { chat: [...others, linked] }, audit: [audit] }
  })
  deps.log.info({ user_id: changed.id, identity: key }, 'chat identity linked')
  await queueForPerson(deps, changed, linked.platform)
  return linked
}

/** The removal of a link: whose, which identity, and by whom. */
export interface Unlinking {
  userId: string
  /** The identity as `identityKey` writes it. */
  key: string
  address?: string
  /** Set when the identity itself asked in chat; otherwise the signed-in person did. */
  inChat?: true
}

/**
 * Unlinks an identity from its person. Needs no proof, since it weakens no protection.
 * @throws Refusal `not_found` when the person does not have it
 */
export async function unlinkIdentity(deps: FlowDeps, input: Unlinking): Promise<void> {
  const { userId, key, address, inChat } = input
  let platform: ChatPlatform | undefined
  const changed = await changeFresh(deps.users, userId, (user) => {
    const others = user.chat.filter((identity) => identityKey(identity) !== key)
    if (others.length === user.chat.length) throw refusal('not_found')
    platform = user.chat.find((identity) => identityKey(identity) === key)?.platform
    const audit = personAudit(deps, 'chat.unlinked', user, {
      detail: { identity: key },
      ...(address === undefined ? {} : { address }),
      ...(inChat ? { actor: { kind: 'chat', id: key } as const } : {}),
    })
    return { fields: { chat: others }, audit: [audit] }
  })
  deps.log.info({ user_id: userId, identity: key }, 'chat identity unlinked')
  // Waiting cards leave that chat and go where another link or the e-mail address leads.
  if (platform !== undefined) await queueForPerson(deps, changed, platform)
}
