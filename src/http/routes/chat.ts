import { type RequestHandler, Router } from 'express'
import { unlinkIdentity } from '../../flow/chat/link-identity.ts'
import { ownAccount, removeChannel } from '../../flow/chat/manage-channels.ts'
import { leaveInstallation, readChatApps } from '../../flow/chat/manage-installations.ts'
import {
  presentChannel,
  presentChatApps,
  presentIdentity,
  removeChannelBody,
  removeChatAppBody,
  removeIdentityBody,
} from '../api/chat.ts'
import type { HttpDeps } from '../http-deps.ts'
import { clientAddress } from '../middleware/client-address.ts'
import { jsonBody } from '../middleware/json-body.ts'
import { limitByPerson } from '../middleware/limit.ts'
import { requireSession, sessionOf } from '../middleware/session.ts'
import { ownerOf } from '../owner-of.ts'
import { parseBody } from '../parse.ts'

/** A person's linked identities and their account's channels: seeing and removing, and how chat is set up for
 * the account. Adding starts in chat. */
export function chatRoutes(deps: HttpDeps): Router {
  const person = [requireSession(deps), limitByPerson(deps, 'person')]
  const router = Router()
  router.get('/me/chat', person, identities)
  router.post('/me/chat/remove', person, jsonBody, removeIdentity(deps))
  router.get('/account/channels', person, channels(deps))
  router.post('/account/channels/remove', person, jsonBody, removeOne(deps))
  router.get('/account/chat-apps', person, apps(deps))
  router.post('/account/chat-apps/remove', person, jsonBody, removeApp(deps))
  return router
}

const identities: RequestHandler = (_request, response) => {
  response.json({ identities: sessionOf(response).user.chat.map(presentIdentity) })
}

function removeIdentity(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const { key } = parseBody(removeIdentityBody, request.body)
    const userId = sessionOf(response).user.id
    await unlinkIdentity(deps, { userId, key, address: clientAddress(request) })
    response.json({ ok: true })
  }
}

function channels(deps: HttpDeps): RequestHandler {
  return async (_request, response) => {
    const account = await ownAccount(deps, sessionOf(response))
    response.json({ data: account.channels.map(presentChannel), next_cursor: null })
  }
}

function removeOne(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const channel = parseBody(removeChannelBody, request.body)
    await removeChannel(deps, sessionOf(response), channel, clientAddress(request))
    response.json({ ok: true })
  }
}

function apps(deps: HttpDeps): RequestHandler {
  return async (_request, response) => {
    response.json(presentChatApps(await readChatApps(deps, sessionOf(response).user.account_id)))
  }
}

function removeApp(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const { platform, tenant } = parseBody(removeChatAppBody, request.body)
    await leaveInstallation(deps, ownerOf(request, response), platform, tenant)
    response.json({ ok: true })
  }
}
