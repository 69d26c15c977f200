import { post } from '../../webauthn-page/kit/api/request.ts'
import { button, runOnce, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { el, freshId } from '../../webauthn-page/kit/dom/element.ts'
import { field } from '../../webauthn-page/kit/dom/field.ts'
import { noticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { secretBox } from '../parts/secret-box.ts'
import { type Section, section } from '../parts/section.ts'
import type { PageContext } from '../shell/page-entry.ts'
import { eventFields } from './event-fields.ts'
import { test } from './webhook-actions.ts'
import { newWebhookShape, type Webhook } from './webhook-shapes.ts'

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

function webhookForm(part: Section, done: PageContext['done'], made: () => void): HTMLElement {
  const url = field({
    label: 'Address of the receiver',
    name: 'url',
    hint: 'An https: address on the public internet, such as https://hooks.example.com/countersign.',
    attributes: { type: 'url', maxlength: URL_LENGTH, autocomplete: 'off', required: true },
  })
  const events = eventFields()
  const form = el(
    'form',
    { novalidate: true, class: 'key-form' },
    url.row,
    events.element,
    submitButton('Create the webhook', 'plain'),
  )
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    part.slot.clear()
    const said = url.input.value.trim()
    if (said === '') {
      url.setError('Enter the address of the receiver.')
      return url.input.focus()
    }
    const chosen = events.read()
    if (chosen === 'none') return
    const wanted = chosen === 'all' ? { url: said } : { url: said, events: chosen }
    void runOnce(form, async () => {
      try {
        const { webhook, secret } = await post('/account/webhooks', wanted, newWebhookShape)
        part.turnInto(
          'Your new webhook',
          'Copy its secret now: it is shown only this once.',
          madeView(webhook, secret, done),
        )
        made()
      } catch (error) {
        part.slot.fail(error, { url })
      }
    })
  })
  return form
}

function madeView(webhook: Webhook, secret: string, done: PageContext['done']): HTMLElement {
  const slot = noticeSlot()
  const about = freshId('test')
  const tryIt = button(
    'Send a test',
    'plain',
    async () => {
      try {
        await test(
          `/account/webhooks/${encodeURIComponent(webhook.id)}`,
          { slot },
          { tested: () => undefined },
        )
      } catch (error) {
        slot.fail(error)
      }
    },
    { 'aria-describedby': about },
  )
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
    el(
      'div',
      { class: 'buttons' },
      tryIt,
      button('I saved the secret', 'primary', () => done()),
    ),
  )
}
