import { post } from '../../webauthn-page/kit/api/request.ts'
import { button, runOnce, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { el, freshId } from '../../webauthn-page/kit/dom/element.ts'
import { field } from '../../webauthn-page/kit/dom/field.ts'
import { noticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { secretBox } from '../parts/secret-box.ts'
import { type Section, section } from '../parts/section.ts'
import type { PageContext } from '../shell/page-entry.ts'
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

/** The choice of events. */
interface EventFields {
  element: HTMLElement
  /** `all`: those of later versions, too. `none`: nothing is chosen, and the fields say so. */
  read(): 'all' | 'none' | string[]
}

function eventFields(): EventFields {
  const group = freshId('events')
  const error = el('p', { class: 'field-error', id: `${group}-error` })
  const choice = (label: string, checked: boolean): { row: HTMLElement; input: HTMLInputElement } => {
    const id = freshId('choice')
    const input = el('input', { type: 'radio', name: group, id, checked })
    return { row: el('p', { class: 'check' }, input, ' ', el('label', { for: id }, label)), input }
  }
  const all = choice('All events, also those of later versions', true)
  const some = choice('Only these', false)
  const boxes = EVENTS.map((type) => {
    const id = freshId('event')
    const input = el('input', { type: 'checkbox', id })
    const label = el('label', { for: id }, `${eventWords(type)} `, el('code', { class: 'kind' }, type))
    return { type, input, row: el('p', { class: 'check' }, input, ' ', label) }
  })
  const list = el('div', { class: 'sub-fields' }, ...boxes.map(({ row }) => row))
  const follow = (): void => {
    list.hidden = !some.input.checked
    error.replaceChildren()
  }
  for (const { input } of [all, some, ...boxes]) input.addEventListener('change', follow)
  follow()
  const legend = el('legend', {}, 'What it is told of')
  return {
    element: el('fieldset', { 'aria-describedby': error.id }, legend, all.row, some.row, list, error),
    read() {
      if (!some.input.checked) return 'all'
      const chosen = boxes.filter(({ input }) => input.checked).map(({ type }) => type)
      if (chosen.length > 0) return chosen
      error.textContent = 'Choose at least one event.'
      boxes[0]?.input.focus()
      return 'none'
    },
  }
}
