import { EVENT_TYPES, type EventType } from '../../src/domain/event.ts'
import { visibleString } from '../../src/domain/text.ts'
import { okShape } from '../../webauthn-page/kit/api/contract.ts'
import { post, remove } from '../../webauthn-page/kit/api/request.ts'
import { button, buttonRow } from '../../webauthn-page/kit/dom/button.ts'
import { askFirst } from '../../webauthn-page/kit/dom/dialog.ts'
import { div, el, hint, mono, p } from '../../webauthn-page/kit/dom/element.ts'
import { moment } from '../../webauthn-page/kit/dom/moment.ts'
import { proven } from '../../webauthn-page/kit/passkey/step-up.ts'
import { callerText, textWarnings } from '../../webauthn-page/kit/show/caller-text.ts'
import { ENDS, type RowPanel, tag } from '../parts/rows.ts'
import { secretBox } from '../parts/secret-box.ts'
import { testResult } from './deliveries.ts'
import { type Delivery, deliveryShape, rotatedShape, type Webhook } from './integration-shapes.ts'

interface After {
  /** Reopens the page after a change. */
  done(message?: string): Promise<void>
  deleted(): Promise<void>
  tested(delivery: Delivery): void
}

/** The buttons of a webhook that is not deleted; the panel shows their results. */
export function webhookActions(webhook: Webhook, panel: RowPanel, after: After): HTMLElement[] {
  const path = `/account/webhooks/${encodeURIComponent(webhook.id)}`
  const opener = (label: string, name: string, work: () => Promise<void>, look?: string): HTMLButtonElement =>
    panel.opener(
      label,
      { 'aria-label': `${name} ${visibleString(webhook.url)}`, ...(look && { class: look }) },
      work,
    )
  const enable = async (): Promise<void> => {
    const purpose = ['Confirm that you want to switch the webhook ', callerText(webhook.url), ' back on.']
    const done = await proven(purpose, () => post(`${path}/enable`, {}, okShape))
    if (done !== undefined) await after.done('The webhook is on again.')
  }
  return [
    ...(webhook.state === 'disabled' ? [opener('Switch on', 'Switch on the webhook', enable)] : []),
    opener('Send a test', 'Send a test to', () => test(path, panel, after)),
    opener('Rotate secret', 'Rotate secret of', () => rotate(webhook, path, panel, after)),
    opener('Delete', 'Delete the webhook', () => drop(webhook, path, after), ENDS),
  ]
}

/** Sends a test and shows its outcome. @throws RequestFailure, ShapeError */
export async function test(
  path: string,
  { slot }: Pick<RowPanel, 'slot'>,
  { tested }: Pick<After, 'tested'>,
): Promise<void> {
  slot.show('info', 'sending the test; this takes a few seconds at most.')
  const delivery = await post(`${path}/test`, {}, deliveryShape)
  const { good, words } = testResult(delivery)
  slot.show(good ? 'success' : 'error', words)
  tested(delivery)
}

async function rotate(webhook: Webhook, path: string, panel: RowPanel, after: After): Promise<void> {
  const rotatedBefore = webhook.previous_secret_valid_until !== null
  const sure = await askFirst(
    'Give this webhook a new secret?',
    'Rotate',
    callerText(webhook.url),
    ' gets a new secret, shown once. For 24 hours every delivery is signed with both, so that the receiver can change over without a gap.',
    rotatedBefore &&
      ' It was rotated less than a day ago: the oldest secret ends at once, as it should if it leaked.',
  )
  if (!sure) return
  const purpose = ['Confirm the new secret of the webhook ', callerText(webhook.url), '.']
  const rotated = await proven(purpose, () => post(`${path}/rotate`, {}, rotatedShape))
  if (rotated === undefined) return
  const { secret, previous_secret_valid_until } = rotated
  panel.show(
    div(
      'panel-form',
      el('h3', {}, 'The new secret'),
      p('Copy it now. ', el('strong', {}, 'It is shown only this once.')),
      secretBox(secret, 'the new secret'),
      hint(
        el('code', {}, 'webhook-signature'),
        ' carries two signatures, by the new and by the old secret, until ',
        moment(previous_secret_valid_until),
        '. ',
        el('code', {}, 'X-Service-Signature'),
        ' is by the new one from now on.',
      ),
      buttonRow(button('I saved the secret', 'primary', () => after.done('The secret is rotated.'))),
    ),
    'once',
  )
}

async function drop(webhook: Webhook, path: string, after: After): Promise<void> {
  const sure = await askFirst(
    'Delete this webhook?',
    'Delete',
    callerText(webhook.url),
    ' will receive no more events, and queued ones are dropped. This cannot be undone.',
  )
  if (!sure) return
  const purpose = ['Confirm that the webhook ', callerText(webhook.url), ' is to be deleted.']
  if ((await proven(purpose, () => remove(path, okShape))) !== undefined) await after.deleted()
}

/** The webhook's address and state. */
export function webhookTitle({ url, state }: Webhook): HTMLElement {
  return el('p', { class: 'entry-name' }, mono(callerText(url)), webhookState(state))
}

export function webhookState(state: Webhook['state']): HTMLElement {
  if (state === 'active') return tag('Active', 'live')
  return tag(state === 'disabled' ? 'Switched off' : 'Deleted', 'warn')
}

/** The events that the webhook receives, then anything unusual about it. */
export function webhookHints(webhook: Webhook): HTMLElement[] {
  const { url, events, state, disabled_at, previous_secret_valid_until: until } = webhook
  const hints = [hint(`Events: ${eventsOf(events)}.`), ...textWarnings(url)]
  if (state === 'disabled') {
    hints.push(
      el(
        'p',
        { class: 'text-flag' },
        'Switched off',
        ...(disabled_at === null ? [] : [' ', moment(disabled_at)]),
        ': its receiver answered with status 410 (gone), or the operator did it. Nothing is sent until you switch it on again; deliveries that were given up or dropped can be replayed from its log.',
      ),
    )
  }
  if (until !== null) {
    hints.push(hint('The secret before the last rotation still signs, too, until ', moment(until), '.'))
  }
  return hints
}

/** The events that a webhook can receive; the test event is sent only on demand. */
export const EVENTS = EVENT_TYPES.filter(
  (type): type is Exclude<EventType, 'webhook.test'> => type !== 'webhook.test',
)

/** In words, when each type of event happens. */
export const EVENT_WORDS: Record<EventType, string> = {
  'approval.created': 'A caller made a request',
  'approval.approved': 'A request is approved',
  'approval.rejected': 'A request is rejected',
  'approval.expired': 'A request expired without a decision, or was withdrawn',
  'approval.reminded': 'Approvers were reminded',
  'bootstrap.requested': 'An agent asks for an API key',
  'bootstrap.approved': 'The owner consented to a key for an agent',
  'key.created': 'An API key is made',
  'key.revoked': 'An API key is revoked',
  'delivery.exhausted': 'A callback or webhook was given up',
  'chat.unavailable': 'A chat workspace or channel refuses cards',
  'chat.restored': 'A chat workspace or channel accepts cards again',
  'webhook.test': 'A test',
}

/** "all events", or the list of their types. */
export function eventsOf(events: readonly string[]): string {
  return EVENTS.every((type) => events.includes(type)) ? 'all events' : events.join(', ')
}
