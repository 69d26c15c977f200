import { identityKey } from '../../domain/chat.ts'
import { refusal } from '../../domain/errors.ts'
import type { ChatLink } from '../chat-ports.ts'
import type { FlowDeps } from '../deps.ts'
import { changeUser } from '../people/change-user.ts'
import { drawDevice, withDevice } from '../people/device.ts'
import { personAudit } from '../people/people-audit.ts'
import { useUp } from './open-link.ts'

/**
 * Makes the browser that shows the link a known one: from then on codes sign its person in there (T15). That takes the
 * right code still, so the link alone opens nothing.
 * @returns the token of the device cookie
 * @throws Refusal `chat_link_invalid`
 */
export async function makeBrowserKnown(deps: FlowDeps, link: ChatLink, address: string): Promise<string> {
  const key = identityKey(link.identity)
  const { token, entry } = drawDevice(deps)
  const userId = link.user_id
  if (userId === undefined) throw refusal('chat_link_invalid')
  await useUp(deps, link)
  await changeUser(deps, userId, (user) => {
    if (!user.chat.some((identity) => identityKey(identity) === key)) throw refusal('chat_link_invalid')
    const actor = { kind: 'chat', id: key, address } as const
    const audit = personAudit(deps, 'chat.browser_known', user, { actor })
    return { fields: { devices: withDevice(user.devices, entry) }, audit: [audit] }
  })
  deps.log.info({ user_id: userId, identity: key }, 'a browser was made known from chat')
  return token
}
