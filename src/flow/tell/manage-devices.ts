import { ECDH } from 'node:crypto'
import type { AuditActor, AuditEntry } from '../../domain/audit.ts'
import { invalidField, refusal } from '../../domain/errors.ts'
import { drawId, isId } from '../../domain/identifier.ts'
import {
  MOST_PUSH_DEVICES,
  mailDeviceId,
  type PushDevice,
  type PushSubscription,
  TEST_PUSH_MS,
} from '../../domain/push.ts'
import { visibleString } from '../../domain/text.ts'
import type { User } from '../../domain/user.ts'
import { fromBase64Url } from '../../signing/base64.ts'
import type { FlowDeps } from '../deps.ts'
import { personAudit, undoIfReset } from '../people/person.ts'
import { newPush } from './follow-pushes.ts'
import { sealSubscription } from './push-secrets.ts'
import { attemptPush } from './send-pushes.ts'

/** The person's browsers that show notifications, oldest first. */
export async function listPushDevices(
  { pushDevices }: FlowDeps,
  person: Pick<User, 'id'>,
): Promise<PushDevice[]> {
  return (await pushDevices.activeOf([person.id])).filter(({ kind }) => kind === undefined)
}

/**
 * Registers the browser that sent its subscription. The endpoint is an address that is named from outside, so it is checked
 * as a webhook's is, now and before every attempt (T1–T8). Doing it again renews name and subscription; a browser that
 * another person had no longer shows theirs.
 * @throws Refusal `invalid_field`, `push_device_limit`, `not_signed_in`
 */
export async function addPushDevice(
  deps: FlowDeps,
  person: User,
  input: { subscription: PushSubscription; name: string },
  address: string,
): Promise<PushDevice> {
  const subscription = readSubscription(deps, input.subscription)
  const id = drawId(deps, 'psd')
  const name = visibleString(input.name).trim()
  const detail = { user_id: person.id, name }
  const audit = personAudit(deps, 'push.device_added', person, { address, subject: id, detail })
  await deps.users.willHaveBrowser(person.id)
  const device = await deps.pushDevices.put(
    {
      id,
      user_id: person.id,
      account_id: person.account_id,
      state: 'active',
      name,
      ...subscription,
      created_at: deps.clock.now(),
      last_sent_at: null,
      audit: [audit],
    },
    (from) => removalEntry(deps, from, { reason: 'taken_over' }),
  )
  if (device === 'full') throw refusal('push_device_limit')
  // One that was there before is taken away with the others.
  if (device.id === id)
    await undoIfReset(deps, person, () =>
      deps.pushDevices.remove(id, person.id, removalEntry(deps, device, { reason: 'reset' })),
    )
  return device
}

/**
 * Checks a browser's subscription before a proof is asked for; the limit itself holds at the write.
 * @throws Refusal `invalid_field`, `push_device_limit`
 */
export async function checkPushDevice(
  deps: FlowDeps,
  person: Pick<User, 'id'>,
  subscription: PushSubscription,
): Promise<void> {
  const { endpoint_hash } = readSubscription(deps, subscription)
  const devices = await listPushDevices(deps, person)
  const known = devices.some((device) => device.endpoint_hash === endpoint_hash)
  if (!known && devices.length >= MOST_PUSH_DEVICES) throw refusal('push_device_limit')
}

function readSubscription({ targets, vault }: FlowDeps, given: PushSubscription) {
  const target = targets.read(given.endpoint)
  if ('problem' in target) throw invalidField('subscription.endpoint', target.problem)
  if (!isP256Point(given.p256dh))
    throw invalidField('subscription.keys.p256dh', 'must be a point on the curve P-256')
  return { ...sealSubscription(vault, { ...given, endpoint: target.href }), host: target.host }
}

/** Removes a browser, or the address. Needs no proof: it lowers nothing. @throws Refusal `not_found` */
export async function removePushDevice(
  deps: FlowDeps,
  person: User,
  id: string,
  address: string,
): Promise<void> {
  const device = await findOwn(deps, person, id, ['active', 'unconfirmed'])
  const actor = { kind: 'user', id: person.id, address } as const
  const audit = removalEntry(deps, device, { reason: 'removed', actor })
  if (!(await deps.pushDevices.remove(id, person.id, audit))) throw refusal('not_found')
}

/**
 * Sends a test at once, and waits for what the push service says. Whether the browser shows it, only who looks can tell.
 * @returns whether the push service accepted it
 * @throws Refusal `not_found`
 */
export async function testPushDevice(deps: FlowDeps, person: User, id: string): Promise<boolean> {
  const device = await findOwn(deps, person, id)
  const now = deps.clock.now()
  const expires_at = new Date(now.getTime() + TEST_PUSH_MS)
  const due = newPush(deps, device, { event_id: drawId(deps, 'evt'), about: { kind: 'test' }, expires_at })
  const push = { ...due, state: 'leased' as const, fence: 1, next_at: expires_at }
  await deps.pushes.insertNew([push])
  return (await attemptPush(deps, push)).state === 'sent'
}

async function findOwn(
  { pushDevices }: FlowDeps,
  person: Pick<User, 'id'>,
  id: string,
  states: readonly PushDevice['state'][] = ['active'],
): Promise<PushDevice> {
  const device = isId('psd', id) ? await pushDevices.find(id) : undefined
  if (device === undefined || !states.includes(device.state) || device.user_id !== person.id)
    throw refusal('not_found')
  return device
}

/** Why a browser is sent nothing more, for the trail. */
type RemovalReason = 'removed' | 'taken_over' | 'enrolled_again' | 'reset'

/**
 * Sends none of the person's browsers, nor their address, anything more: one of them may be an intruder's, and would outlive the
 * session it was registered with (T23). `butMail`: the address stays as it is.
 * @returns how many there were
 */
export async function removeAllDevices(
  deps: FlowDeps,
  person: Pick<User, 'id'>,
  actor: AuditActor,
  reason: RemovalReason,
  { butMail = false } = {},
): Promise<number> {
  const address = await deps.pushDevices.find(mailDeviceId(person.id))
  const unconfirmed = address?.state === 'unconfirmed' ? [address] : []
  const all = [...(await deps.pushDevices.activeOf([person.id])), ...unconfirmed]
  const devices = butMail ? all.filter(({ kind }) => kind !== 'mail') : all
  for (const device of devices)
    await deps.pushDevices.remove(device.id, person.id, removalEntry(deps, device, { reason, actor }))
  return devices.length
}

/** Makes the entry of a removal. */
export function removalEntry(
  deps: FlowDeps,
  device: PushDevice,
  { reason, actor = { kind: 'service' } }: { reason: RemovalReason; actor?: AuditActor },
): AuditEntry {
  const owner = { id: device.user_id, account_id: device.account_id }
  const detail = { user_id: device.user_id, reason }
  return personAudit(deps, 'push.device_removed', owner, { actor, subject: device.id, detail })
}

/**
 * Checks whether the text is the base64url of an uncompressed point on the curve P-256 (SEC 1 §2.3.3). Nothing can be
 * encrypted for any other text.
 */
function isP256Point(text: string): boolean {
  try {
    const point = fromBase64Url(text)
    if (point.length !== 65 || point[0] !== 4) return false
    ECDH.convertKey(point, 'prime256v1', undefined, undefined, 'uncompressed')
    return true
  } catch {
    return false
  }
}
