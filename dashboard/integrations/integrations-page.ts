import { visibleString } from '../../src/domain/text.ts'
import { get } from '../../webauthn-page/kit/api/request.ts'
import { el, hint, link, p } from '../../webauthn-page/kit/dom/element.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { rowPanel } from '../parts/rows.ts'
import { section } from '../parts/section.ts'
import { showMore } from '../parts/show-more.ts'
import type { PageContext, PageView } from '../shell/page-entry.ts'
import { chatSections, loadChatSetup } from './chat-sections.ts'
import { type DeliveryPage, deliveryRow, lastDelivery, loadDeadLetters } from './deliveries.ts'
import { type Delivery, type Webhook, webhooksShape } from './integration-shapes.ts'
import { newWebhookSection } from './new-webhook.ts'
import { webhookActions, webhookHints, webhookTitle } from './webhook-actions.ts'

/** `/integrations`: webhooks, and how cards come to Slack and Teams. */
export async function integrationsPage(context: PageContext): Promise<PageView> {
  const [{ data: webhooks }, dead, chat] = await Promise.all([
    get('/account/webhooks', webhooksShape),
    loadDeadLetters(),
    loadChatSetup(),
  ])
  const list = webhooksSection(webhooks, context)
  const scene = el(
    'div',
    { class: 'integrations' },
    el('h1', {}, 'Integrations'),
    list.element,
    newWebhookSection(context, list.made),
    deadLettersSection(dead, context),
    ...chatSections(chat, context),
  )
  return { title: 'Integrations', scene, wide: true }
}

/** The webhooks of the account, each with what can be done with it. `made`: one more was made just now. */
function webhooksSection(
  webhooks: readonly Webhook[],
  context: PageContext,
): { element: HTMLElement; made(): void } {
  const none = p('There is no webhook yet. Create the first one below, and send it a test.')
  const part = section(
    'Webhooks',
    'Your own systems are told of what happens in this account, by signed calls to an address of yours.',
  )
  part.body.append(
    webhooks.length > 0
      ? el('ul', { class: 'entries' }, ...webhooks.map((webhook) => webhookEntry(webhook, context)))
      : none,
    hint(
      'What became of the callback of a single request stands on the page of that request, under ',
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
    tested: (delivery) => last.replaceChildren(...lastDelivery(delivery).filter(isNode)),
  })
  return el(
    'li',
    { class: 'entry' },
    el('div', { class: 'webhook-about' }, webhookTitle(webhook), ...webhookHints(webhook), last),
    el(
      'div',
      { class: 'entry-buttons' },
      link(log, 'Delivery log', {
        class: 'button quiet',
        'aria-label': `Delivery log of ${visibleString(webhook.url)}`,
      }),
      ...actions,
    ),
    panel.element,
  )
}

function isNode(child: unknown): child is Node | string {
  return typeof child === 'string' || child instanceof Node
}

/** Callbacks and events that were given up, to be sent once more. Not there while there are none. */
function deadLettersSection(first: DeliveryPage, context: PageContext): HTMLElement | undefined {
  if (first.data.length === 0) return undefined
  const part = section(
    'Given up',
    'Nobody took these callbacks and events. When their receiver works again, replay them: they keep their ids.',
  )
  const list = el('ul', { class: 'entries' })
  const add = (deliveries: readonly Delivery[]): HTMLElement | undefined => {
    const rows = deliveries.map((delivery) =>
      deliveryRow(delivery, {
        slot: part.slot,
        context,
        replayable: true,
        replayed: () => void context.done('The delivery is on its way again.'),
        to: hint('To ', el('span', { class: 'mono' }, callerText(delivery.url))),
      }),
    )
    list.append(...rows)
    return rows[0]?.querySelector('summary') ?? undefined
  }
  add(first.data)
  part.body.append(
    list,
    showMore(first, {
      load: loadDeadLetters,
      add,
      said: (count) => (count === 1 ? '1 more' : `${count} more`),
    }),
  )
  return part.element
}
