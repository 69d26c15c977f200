import type { IncomingMessage } from 'node:http'
import type { TeamsSettings } from '../../src/config/teams.ts'
import { invalidField, refusal } from '../../src/domain/errors.ts'
import { visibleString } from '../../src/domain/text.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { Mount } from '../../src/http/http-deps.ts'
import { type Activity, readActivity } from './activity.ts'
import type { TeamsBot } from './bot-port.ts'
import type { Conversations } from './conversations.ts'
import { parsed } from './fetch-json.ts'
import { isAllowedService } from './service-address.ts'
import { createBackground, takeEvents } from './take-events.ts'
import { createTokenGuard, createTokenKeys, type TokenClaims } from './token-guard.ts'

const PATH = '/api/messages'

/**
 * `POST /api/messages`. In this order: the token, then the body, then whether it may speak to this bot at all; the library
 * comes last. Every refusal is a `Refusal`: the same JSON as everywhere, and nothing of what went wrong inside.
 */
export function createTeamsReceiver(
  settings: TeamsSettings,
  bot: TeamsBot,
  conversations: Conversations,
  deps: FlowDeps,
): { mount: Mount; stop(): Promise<void> } {
  const background = createBackground(deps.log)
  const parts = { deps, calls: bot, conversations, tenant: settings.tenantId }
  const events = takeEvents(parts, background)
  const checkToken = createTokenGuard(settings.appId, createTokenKeys(settings.openIdUrl, deps), deps)
  return {
    mount(app) {
      app.post(PATH, async (request, response) => {
        response.setHeader('Cache-Control', 'no-store')
        const { authorization } = request.headers
        const claims = settings.unauthenticated ? undefined : await checkToken(authorization)
        const body = await readJsonBody(request)
        guardActivity(body, claims, settings, deps.log)
        const { status, body: answer } = await bot.receive(authorization ?? '', body, events)
        response.status(status)
        if (answer === undefined) response.end()
        else response.json(answer)
      })
    },
    stop: () => background.settled(),
  }
}

const MOST_BYTES = 256 * 1024

/**
 * The JSON body of an activity. No parser stands before this one, so that no body is read whose sender has no valid token.
 * @throws Refusal `unsupported_media_type`, `chat_body_too_large`, `invalid_json`
 */
async function readJsonBody(request: IncomingMessage): Promise<object> {
  const { 'content-type': type = '', 'content-encoding': coding = 'identity' } = request.headers
  if (!/^application\/json\b/i.test(type) || coding !== 'identity') throw refusal('unsupported_media_type')
  const body = parsed(utf8(await readBytes(request)))
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw refusal('invalid_json')
  return body
}

/** By events: leaving a loop over the request early would cut the connection before the answer. */
function readBytes(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length <= MOST_BYTES) chunks.push(chunk)
      else reject(refusal('chat_body_too_large'))
    })
    request.once('end', () => resolve(Buffer.concat(chunks)))
    request.once('error', () => reject(refusal('invalid_json')))
    request.once('close', () => reject(refusal('invalid_json')))
  })
}

function utf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw refusal('invalid_json')
  }
}

/** A tenant's id has 36. */
const LONGEST_SHOWN = 64
/** Longer ids are none of Teams'. */
const LONGEST_ID = 1000

/**
 * Checks what the library does not: that it is an activity, of Teams, of the one tenant, and that answers would go to
 * Microsoft. Nothing has been sent or stored before all of it passed (T39, T40).
 * @param claims absent only where activities without a token are believed
 * @throws Refusal `invalid_field` for what is no activity, `chat_sender_refused`
 */
function guardActivity(
  body: unknown,
  claims: TokenClaims | undefined,
  settings: Pick<TeamsSettings, 'tenantId' | 'serviceHosts'>,
  log: FlowDeps['log'],
): Activity {
  const activity = readActivity(body)
  if (activity === undefined) throw invalidField('type', 'must be the type of a Bot Framework activity')
  const { id, conversation, from } = activity
  if ([id, conversation?.id, from?.id].some((one) => (one?.length ?? 0) > LONGEST_ID)) {
    throw invalidField('id', 'is too long')
  }
  const refused = whyRefused(activity, claims, settings)
  if (refused === undefined) return activity
  log.warn(refused, 'an activity for Teams was refused')
  throw refusal('chat_sender_refused')
}

function whyRefused(
  { channelId, channelData, conversation, from, serviceUrl }: Activity,
  claims: TokenClaims | undefined,
  settings: Pick<TeamsSettings, 'tenantId' | 'serviceHosts'>,
): { reason: string; tenant?: string } | undefined {
  if (channelId !== 'msteams') return { reason: 'channel' }
  const tenants = [channelData?.tenant?.id, conversation?.tenantId, from?.tenantId].filter(
    (id) => typeof id === 'string',
  )
  // Guests of shared channels bring a tenant of their own, in which their ids mean another person.
  const stranger = tenants.find((id) => id.toLowerCase() !== settings.tenantId)
  if (stranger !== undefined) return { reason: 'tenant', tenant: shown(stranger) }
  if (tenants.length === 0) return { reason: 'tenant' }
  if (!serviceUrl || !isAllowedService(serviceUrl, settings)) return { reason: 'service_url' }
  if (claims !== undefined && claims.serviceUrl !== serviceUrl) return { reason: 'service_url_claim' }
  return undefined
}

/** For the log: the sender may write anything there. */
function shown(tenant: string): string {
  const visible = visibleString(tenant.slice(0, LONGEST_SHOWN)).replace(/\s+/g, ' ')
  return [...visible].slice(0, LONGEST_SHOWN).join('')
}
