import { type RequestHandler, Router } from 'express'
import { refusal } from '../../domain/errors.ts'
import { makeBrowserKnown, openChatLink } from '../../flow/chat/chat-links.ts'
import { linkIdentity } from '../../flow/chat/link-identity.ts'
import { addChannel } from '../../flow/chat/manage-channels.ts'
import {
  lookAtChatLinkBody,
  presentChannel,
  presentChatLink,
  presentIdentity,
  useChatLinkBody,
} from '../api/chat.ts'
import type { HttpDeps } from '../http-deps.ts'
import { clientAddress } from '../middleware/client-address.ts'
import { DEVICE_COOKIE_SECONDS, writeCookie } from '../middleware/cookies.ts'
import { sameOrigin } from '../middleware/csrf.ts'
import { jsonBody } from '../middleware/json-body.ts'
import { limitByAddress } from '../middleware/limit.ts'
import { findSignedIn } from '../middleware/session.ts'
import { parseBody } from '../parse.ts'

/** One-time links that somebody asked for in chat. The token comes in the body, never in the address. */
export function chatLinkRoutes(deps: HttpDeps): Router {
  const steps = [limitByAddress(deps, 'auth'), sameOrigin(deps), ...jsonBody]
  const router = Router()
  router.post('/look', steps, look(deps))
  router.post('/use', steps, use(deps))
  return router
}

function look(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const { token } = parseBody(lookAtChatLinkBody, request.body)
    response.json(presentChatLink(await openChatLink(deps, token)))
  }
}

/** Who must be signed in depends on what the link is for: a browser that is to become known has nobody yet. */
function use(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const { token, proof } = parseBody(useChatLinkBody, request.body)
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
}
