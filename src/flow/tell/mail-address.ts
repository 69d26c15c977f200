import { refusal } from '../../domain/errors.ts'
import { CODE_MINUTES, drawCodeMail } from '../../domain/mail.ts'
import { mailDeviceId, type PushDevice } from '../../domain/push.ts'
import type { User } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'
import { personAudit, undoIfReset } from '../people/person.ts'
import { removalEntry } from './manage-devices.ts'

/** The person's address as a place at which they are told, also one that is not confirmed or bounced. */
export function mailAddressOf({ pushDevices }: FlowDeps, { id }: Pick<User, 'id'>) {
  return pushDevices.find(mailDeviceId(id))
}

const CODE_DIGITS = 8

/**
 * Sends a code to the address with which the person signs in: whoever invited them chose it, and may have chosen a stranger's. Until
 * the code came back, nothing of a request goes there (T91).
 * @returns whether the relay accepted it
 * @throws Refusal `mail_off`, `mail_confirmed`, `mail_code_limit`
 */
export async function sendAddressCode(deps: FlowDeps, person: User): Promise<boolean> {
  const { mailer } = deps
  if (mailer === undefined) throw refusal('mail_off')
  const at = deps.clock.now()
  const code = drawCode(deps)
  const id = mailDeviceId(person.id)
  const expires_at = new Date(at.getTime() + CODE_MINUTES * 60_000)
  const offered = await deps.pushDevices.offerCode(
    {
      ...{ id, user_id: person.id, account_id: person.account_id, kind: 'mail', state: 'unconfirmed' },
      code: { hash: hashOf(deps, person, code), expires_at, tries: 0 },
      ...{ name: 'E-mail', host: mailer.host, created_at: at, last_sent_at: null, audit: [] },
    },
    at,
  )
  if (offered === 'confirmed') throw refusal('mail_confirmed')
  if (offered === 'full') throw refusal('mail_code_limit')
  const mail = drawCodeMail(`${code.slice(0, 4)} ${code.slice(4)}`, deps.settings.baseUrl)
  const message = deps.vault.hash('mail-code', `${id} ${at.toISOString()}`).slice(0, 32)
  const { outcome } = await mailer.send({ to: person.email, mail, id: message, thread: message, at })
  return outcome === 'smtp_250'
}

/**
 * Confirms the address by the code that was sent there last. The code does nothing but that, and only in a session of its person.
 * @throws Refusal `mail_code_refused`, `not_signed_in`
 */
export async function confirmAddress(
  deps: FlowDeps,
  person: User,
  code: string,
  address: string,
): Promise<PushDevice> {
  const id = mailDeviceId(person.id)
  const detail = { user_id: person.id, name: 'E-mail' }
  const audit = personAudit(deps, 'push.device_added', person, { address, subject: id, detail })
  const at = deps.clock.now()
  await deps.users.willHaveBrowser(person.id)
  const device = await deps.pushDevices.confirm(id, hashOf(deps, person, code.replace(/\s/g, '')), {
    ...{ at, audit },
    endpoint_hash: deps.vault.hash('push-endpoint', id),
  })
  if (device === undefined) throw refusal('mail_code_refused')
  await undoIfReset(deps, person, () =>
    deps.pushDevices.remove(id, person.id, removalEntry(deps, device, { reason: 'reset' })),
  )
  return device
}

function drawCode({ random }: Pick<FlowDeps, 'random'>): string {
  const number = Buffer.from(random.bytes(6)).readUIntBE(0, 6) % 10 ** CODE_DIGITS
  return String(number).padStart(CODE_DIGITS, '0')
}

/** Bound to the address: a code for an address that the person had before proves nothing of another one. */
function hashOf({ vault }: Pick<FlowDeps, 'vault'>, { id, email }: User, code: string): string {
  return vault.hash('mail-code', `${id} ${email} ${code}`)
}
