import { post } from '../../webauthn-page/kit/api/request.ts'
import { button, buttonRow, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { el, freshId } from '../../webauthn-page/kit/dom/element.ts'
import { field, filled, form } from '../../webauthn-page/kit/dom/form.ts'
import { noticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { allOrSome } from '../parts/fields.ts'
import { secretBox } from '../parts/secret-box.ts'
import { type Section, section } from '../parts/section.ts'
import type { Done, PageContext } from '../shell/page-entry.ts'
import { newWebhookShape, type Webhook } from './integration-shapes.ts'
import { EVENTS, eventWords, test } from './webhook-actions.ts'

const URL_LENGTH = 2048

/**
 * The form for a new webhook; it becomes the secret, shown once, with a way to try the receiver at once. `made` runs as soon
 * as there is one.
 */
export function newWebhookSection({ done }: PageContext, made: () => void): HTMLElement {
  const part = section(
    'Create a webhook',
    'Events are posted to it as JSON, signed with a secret of its own. Events of before are not sent.',
  )
  part.body.append(webhookForm(part, done, made))
  return part.element
}

function webhookForm(part: Section, done: Done, made: () => void): HTMLElement {
  const url = field({
    label: 'Address of the receiver',
    name: 'url',
    hint: 'An https: address on the public internet, such as https://hooks.example.com/countersign.',
    attributes: { type: 'url', maxlength: URL_LENGTH, autocomplete: 'off', required: true },
  })
  const events = allOrSome({
    legend: 'What it is told of',
    all: 'All events, also those of later versions',
    some: 'Only these',
    isAll: true,
    choices: EVENTS.map((type) => ({ value: type, label: eventLabel(type), checked: false })),
    missing: 'Choose at least one event.',
  })
  const create = async (): Promise<void> => {
    const said = filled(url, 'Enter the address of the receiver.')
    if (said === undefined) return
    const chosen = events.read()
    if (chosen === undefined) return
    const wanted = chosen === 'all' ? { url: said } : { url: said, events: chosen }
    const { webhook, secret } = await post('/account/webhooks', wanted, newWebhookShape)
    part.turnInto(
      'Your new webhook',
      'Copy its secret now: it is shown only this once.',
      madeView(webhook, secret, done),
    )
    made()
  }
  return form(
    { class: 'key-form' },
    () => part.slot.attempt(create, { url }),
    url.row,
    events.element,
    submitButton('Create the webhook', 'plain'),
  )
}

function eventLabel(type: (typeof EVENTS)[number]): HTMLElement {
  return el('span', {}, `${eventWords(type)} `, el('code', { class: 'kind' }, type))
}

function madeView(webhook: Webhook, secret: string, done: Done): HTMLElement {
  const slot = noticeSlot()
  const about = freshId('test')
  const path = `/account/webhooks/${encodeURIComponent(webhook.id)}`
  const tryIt = (): Promise<void> => slot.attempt(() => test(path, { slot }, { tested: () => undefined }))
  return el(
    'div',
    { class: 'panel-form' },
    el('p', { class: 'mono' }, callerText(webhook.url)),
    secretBox(secret, 'the secret of the webhook'),
    el(
      'p',
      { class: 'hint', id: about },
      'Put it where the receiver checks ',
      el('code', {}, 'webhook-signature'),
      '; the HMAC key is the text itself. Then send a test.',
    ),
    slot.element,
    buttonRow(
      button('Send a test', 'plain', tryIt, { 'aria-describedby': about }),
      button('I saved the secret', 'primary', () => done()),
    ),
  )
}
