import type { TeamsSettings } from '../../src/config/teams.ts'
import { invalidField, refusal } from '../../src/domain/errors.ts'
import { visibleString } from '../../src/domain/text.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import { type Activity, readActivity } from './read-activity.ts'
import { isAllowedService } from './service-address.ts'
import type { TokenClaims } from './token-guard.ts'

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
export function guardActivity(
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
  // Guests of shared channels bring a tenant of their own, in which their ids mean somebody else.
  const stranger = tenants.find((id) => id.toLowerCase() !== settings.tenantId)
  if (stranger !== undefined) return { reason: 'tenant', tenant: shown(stranger) }
  if (tenants.length === 0) return { reason: 'tenant' }
  if (!serviceUrl || !isAllowedService(serviceUrl, settings)) return { reason: 'service_url' }
  if (claims !== undefined && claims.serviceUrl !== serviceUrl) return { reason: 'service_url_claim' }
  return undefined
}

/** For the log: whoever sends it may write anything there. */
function shown(tenant: string): string {
  const visible = visibleString(tenant.slice(0, LONGEST_SHOWN)).replace(/\s+/g, ' ')
  return [...visible].slice(0, LONGEST_SHOWN).join('')
}
