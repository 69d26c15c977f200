import { visibleString } from '../../src/domain/text.ts'
import { get, post } from '../../webauthn-page/kit/api/request.ts'
import { button, buttonRow, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { div, el, freshId, hint, link, mono, p } from '../../webauthn-page/kit/dom/element.ts'
import { field, filled, form } from '../../webauthn-page/kit/dom/form.ts'
import { noticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import { proven } from '../../webauthn-page/kit/passkey/step-up.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { allOrSome } from '../parts/fields.ts'
import { rowPanel } from '../parts/rows.ts'
import { secretBox } from '../parts/secret-box.ts'
import { type Section, section } from '../parts/section.ts'
import { moreRows } from '../parts/show-more.ts'
import type { Done, PageContext, PageView } from '../shell/page-entry.ts'
import { chatSections, loadChatSetup } from './chat-sections.ts'
import { deliveryRow, lastDelivery, loadDeadLetters } from './deliveries.ts'
import {
  type Delivery,
  type DeliveryPage,
  newWebhookShape,
  type Webhook,
  webhooksShape,
} from './integration-shapes.ts'
import { EVENT_WORDS, EVENTS, test, webhookActions, webhookHints, webhookTitle } from './webhook-actions.ts'

/** `/integrations`: webhooks, and the set-up of cards in Slack and Teams. */
export async function integrationsPage(context: PageContext): Promise<PageView> {
  const [{ data: webhooks }, dead, chat] = await Promise.all([
    get('/account/webhooks', webhooksShape),
    loadDeadLetters(),
    loadChatSetup(),
  ])
  const list = webhooksSection(webhooks, context)
  const scene = div(
    'integrations',
    el('h1', {}, 'Integrations'),
    list.element,
    newWebhookSection(context, list.made),
    deadLettersSection(dead, context),
    ...chatSections(chat, context),
  )
  return { title: 'Integrations', scene, wide: true }
}

/** The account's webhooks, each with its actions. Call `made` when a further one was just created. */
function webhooksSection(
  webhooks: readonly Webhook[],
  context: PageContext,
): { element: HTMLElement; made(): void } {
  const none = p('There is no webhook yet. Create the first one below, and send it a test.')
  const part = section(
    'Webhooks',
    'Webhooks tell your own systems about events in this account, by signed calls to an address that you choose.',
  )
  part.body.append(
    webhooks.length > 0
      ? el('ul', { class: 'entries' }, ...webhooks.map((webhook) => webhookEntry(webhook, context)))
      : none,
    hint(
      'The callback of a single request is listed on the page of that request, under ',
      link(context.href('/requests'), 'Requests'),
      '.',
    ),
  )
  return {
    element: part.element,
    made: () => {
      none.textContent = 'Your first webhook is below. It is listed here once you have saved its secret.'
    },
  }
}

function webhookEntry(webhook: Webhook, context: PageContext): HTMLElement {
  const panel = rowPanel()
  const last = hint(...lastDelivery(webhook.last_delivery))
  const log = context.href(`/integrations/webhooks/${encodeURIComponent(webhook.id)}`)
  const actions = webhookActions(webhook, panel, {
    done: context.done,
    deleted: () => context.done('The webhook is deleted.'),
    tested: (delivery) => last.replaceChildren(...lastDelivery(delivery)),
  })
  return el(
    'li',
    { class: 'entry' },
    div('webhook-about', webhookTitle(webhook), ...webhookHints(webhook), last),
    div(
      'entry-buttons',
      link(log, 'Delivery log', {
        class: 'button quiet',
        'aria-label': `Delivery log of ${visibleString(webhook.url)}`,
      }),
      ...actions,
    ),
    panel.element,
  )
}

/** Callbacks and events that were given up, to be replayed; undefined if there are none. */
function deadLettersSection(first: DeliveryPage, context: PageContext): HTMLElement | undefined {
  if (first.data.length === 0) return undefined
  const part = section(
    'Given up',
    'No receiver accepted these callbacks and events. When the receiver works again, replay them: they keep their ids.',
  )
  const list = el('ul', { class: 'entries' })
  const row = (delivery: Delivery): HTMLElement =>
    deliveryRow(delivery, {
      slot: part.slot,
      context,
      replayable: true,
      replayed: () => void context.done('The delivery is on its way again.'),
      to: hint('To ', mono(callerText(delivery.url))),
    })
  const called = ['delivery', 'deliveries'] as const
  part.body.append(list, moreRows(list, first, { row, load: loadDeadLetters, called }))
  return part.element
}

const URL_LENGTH = 2048

/**
 * The form for a new webhook; it turns into the secret, shown once, with a test of the receiver. `made` runs as soon as the
 * webhook exists.
 */
function newWebhookSection({ done }: PageContext, made: () => void): HTMLElement {
  const part = section(
    'Create a webhook',
    'Events are posted to it as JSON, signed with its own secret. Earlier events are not sent.',
  )
  part.body.append(webhookForm(part, done, made))
  return part.element
}

function webhookForm(part: Section, done: Done, made: () => void): HTMLElement {
  const url = field({
    label: 'Address of the receiver',
    name: 'url',
    hint: 'Such as https://hooks.example.com/countersign.',
    attributes: { type: 'url', maxlength: URL_LENGTH, autocomplete: 'off', required: true },
  })
  const events = allOrSome({
    legend: 'Events it receives',
    all: 'All events, including those added in later versions',
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
    const answer = await proven(['Confirm the new webhook ', callerText(said), '.'], () =>
      post('/account/webhooks', wanted, newWebhookShape),
    )
    if (answer === undefined) return
    const { webhook, secret } = answer
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
    submitButton('Create the webhook'),
  )
}

function eventLabel(type: (typeof EVENTS)[number]): HTMLElement {
  return el('span', {}, `${EVENT_WORDS[type]} `, el('code', { class: 'kind' }, type))
}

function madeView(webhook: Pick<Webhook, 'id' | 'url'>, secret: string, done: Done): HTMLElement {
  const slot = noticeSlot()
  const about = freshId('test')
  const path = `/account/webhooks/${encodeURIComponent(webhook.id)}`
  const tryIt = (): Promise<void> => slot.attempt(() => test(path, { slot }, { tested: () => undefined }))
  return div(
    'panel-form',
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
