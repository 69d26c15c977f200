import { Router } from 'express'
import { refusal } from '../../domain/errors.ts'
import { makeBrowserKnown, openChatLink } from '../../flow/chat/chat-links.ts'
import {
  addChannel,
  leaveInstallation,
  readChatApps,
  removeChannel,
} from '../../flow/chat/connect-account.ts'
import { linkIdentity, unlinkIdentity } from '../../flow/chat/link-identity.ts'
import { accessTo } from '../../flow/people/accounts.ts'
import {
  type channelListAnswer,
  type chatAppsAnswer,
  type chatLinkAnswer,
  type identitiesAnswer,
  lookAtChatLinkBody,
  presentChannel,
  presentChatApps,
  presentChatLink,
  presentIdentity,
  removeChannelBody,
  removeChatAppBody,
  removeIdentityBody,
  useChatLinkBody,
  type usedChatLinkAnswer,
} from '../api/chat.ts'
import type { okAnswer } from '../api/shared/fields.ts'
import { bindTo, type Endpoint, type Handler } from '../handler.ts'
import type { HttpDeps } from '../http-deps.ts'
import { clientAddress } from '../middleware/client-address.ts'
import { DEVICE_COOKIE_SECONDS, writeCookie } from '../middleware/cookies.ts'
import { jsonBody } from '../middleware/json-body.ts'
import { limitByAddress, limitByPerson } from '../middleware/limit.ts'
import { findSignedIn, ownerOf, requireSession, sameOrigin, sessionOf } from '../middleware/session.ts'
import { parseInput } from '../read-input.ts'

/** Creates the routes that show and remove a person's linked identities and their account's channels, and show how
 * chat is set up for the account. Adding starts in chat. */
export function chatRoutes(deps: HttpDeps): Router {
  const person = [requireSession(deps), limitByPerson(deps, 'person')]
  const router = Router()
  const on = bindTo(deps)
  router.get('/me/chat', person, listIdentities)
  router.post('/me/chat/remove', person, jsonBody, on(removeIdentity))
  router.get('/account/channels', person, on(listChannels))
  router.post('/account/channels/remove', person, jsonBody, on(unlinkChannel))
  router.get('/account/chat-apps', person, on(listApps))
  router.post('/account/chat-apps/remove', person, jsonBody, on(removeApp))
  // One-time links that a person asked for in chat. The token comes in the body, never in the address.
  const open = [limitByAddress(deps, 'auth'), sameOrigin(deps)]
  router.post('/chat-links/look', open, jsonBody, on(showChatLink))
  router.post('/chat-links/use', open, jsonBody, on(followChatLink))
  return router
}

const listIdentities: Handler<typeof identitiesAnswer> = (_request, response) => {
  response.json({ identities: sessionOf(response).user.chat.map(presentIdentity) })
}

const removeIdentity: Endpoint<typeof okAnswer> = async (deps, request, response) => {
  const { key } = parseInput(removeIdentityBody, request.body)
  const userId = sessionOf(response).user.id
  await unlinkIdentity(deps, { userId, key, address: clientAddress(request) })
  response.json({ ok: true })
}

const listChannels: Endpoint<typeof channelListAnswer> = async (deps, _request, response) => {
  const { account } = await accessTo(deps, sessionOf(response).user, 'manage')
  const { channels, chat_troubles } = account
  const data = channels.map((channel) => presentChannel(channel, chat_troubles))
  response.json({ data, next_cursor: null })
}

const unlinkChannel: Endpoint<typeof okAnswer> = async (deps, request, response) => {
  const channel = parseInput(removeChannelBody, request.body)
  await removeChannel(deps, sessionOf(response), channel, clientAddress(request))
  response.json({ ok: true })
}

const listApps: Endpoint<typeof chatAppsAnswer> = async (deps, _request, response) => {
  response.json(presentChatApps(await readChatApps(deps, sessionOf(response).user.account_id)))
}

const removeApp: Endpoint<typeof okAnswer> = async (deps, request, response) => {
  const { platform, tenant } = parseInput(removeChatAppBody, request.body)
  await leaveInstallation(deps, ownerOf(request, response), platform, tenant)
  response.json({ ok: true })
}

const showChatLink: Endpoint<typeof chatLinkAnswer> = async (deps, request, response) => {
  const { token } = parseInput(lookAtChatLinkBody, request.body)
  response.json(presentChatLink(await openChatLink(deps, token)))
}

/** Uses a link. Its kind decides whether a session is needed: a browser that is to become known has none yet. */
const followChatLink: Endpoint<typeof usedChatLinkAnswer> = async (deps, request, response) => {
  const { token, proof } = parseInput(useChatLinkBody, request.body)
  const address = clientAddress(request)
  const link = await openChatLink(deps, token)
  if (link.kind === 'browser') {
    const device = await makeBrowserKnown(deps, link, address)
    writeCookie(response, 'device', deps.settings.baseUrl, device, DEVICE_COOKIE_SECONDS)
    response.json({ ok: true })
    return
  }
  const who = await findSignedIn(deps, request)
  if (who === undefined) throw refusal('not_signed_in')
  const shown = { link, proof, address }
  if (link.kind === 'link') response.json({ linked: presentIdentity(await linkIdentity(deps, who, shown)) })
  else response.json({ channel: presentChannel(await addChannel(deps, who, shown)) })
}
