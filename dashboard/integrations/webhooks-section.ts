import { visibleString } from '../../src/domain/text.ts'
import { el, link } from '../../webauthn-page/kit/dom/element.ts'
import { rowPanel } from '../parts/row-panel.ts'
import { section } from '../parts/section.ts'
import type { PageContext } from '../shell/page-entry.ts'
import { lastDelivery } from './outcome-view.ts'
import { webhookActions } from './webhook-actions.ts'
import { webhookHints, webhookTitle } from './webhook-facts.ts'
import type { Webhook } from './webhook-shapes.ts'

/** The webhooks of the account, each with what can be done with it. `made`: one more was made just now. */
export function webhooksSection(
  webhooks: readonly Webhook[],
  context: PageContext,
): { element: HTMLElement; made(): void } {
  const none = el('p', {}, 'There is no webhook yet. Create the first one below, and send it a test.')
  const part = section(
    'Webhooks',
    'Your own systems are told of what happens in this account, by signed calls to an address of yours.',
  )
  part.body.append(
    webhooks.length > 0
      ? el('ul', { class: 'entries' }, ...webhooks.map((webhook) => webhookEntry(webhook, context)))
      : none,
    el(
      'p',
      { class: 'hint' },
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
  const last = el('p', { class: 'hint' }, ...lastDelivery(webhook.last_delivery))
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
