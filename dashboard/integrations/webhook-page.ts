import { get } from '../../webauthn-page/kit/api/request.ts'
import { el, facts, link } from '../../webauthn-page/kit/dom/element.ts'
import { moment } from '../../webauthn-page/kit/dom/moment.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { rowPanel } from '../parts/row-panel.ts'
import { section } from '../parts/section.ts'
import type { PageContext, PageView } from '../shell/page-entry.ts'
import { logSection } from './delivery-log.ts'
import { eventsOf } from './event-words.ts'
import { loadDeliveries } from './load-deliveries.ts'
import { webhookActions } from './webhook-actions.ts'
import { webhookHints, webhookState } from './webhook-facts.ts'
import { type Webhook, webhookShape } from './webhook-shapes.ts'

/** `/integrations/webhooks/:id`: one webhook and what was sent to it. */
export async function webhookPage(context: PageContext): Promise<PageView> {
  const { params, query } = context
  const id = params.id ?? ''
  const cursor = query.get('cursor') ?? undefined
  const [webhook, deliveries] = await Promise.all([
    get(`/account/webhooks/${encodeURIComponent(id)}`, webhookShape),
    loadDeliveries(id, cursor),
  ])
  const log = logSection(webhook, deliveries, { cursor, context })
  const scene = el(
    'div',
    { class: 'webhook-page' },
    el('p', { class: 'way-back' }, link(context.href('/integrations'), 'Integrations')),
    el('h1', {}, 'Webhook'),
    aboutSection(webhook, context, log.look),
    log.element,
  )
  return { title: 'Webhook', scene, wide: true }
}

function aboutSection(webhook: Webhook, context: PageContext, look: () => void): HTMLElement {
  const part = section('About this webhook', webhook.state === 'deleted' ? DELETED : ABOUT)
  const panel = rowPanel()
  part.body.append(
    facts(
      ['Address', el('span', { class: 'mono' }, callerText(webhook.url))],
      ['State', webhookState(webhook.state)],
      ['Told of', eventsOf(webhook.events)],
      ['Created', moment(webhook.created_at)],
    ),
    // The first hint repeats what it is told of.
    ...webhookHints(webhook).slice(1),
  )
  if (webhook.state !== 'deleted') {
    const actions = webhookActions(webhook, panel, {
      done: context.done,
      deleted: () => context.go(context.href('/integrations'), 'The webhook is deleted.'),
      tested: look,
    })
    part.body.append(el('div', { class: 'entry-buttons' }, ...actions), panel.element)
  }
  return part.element
}

const ABOUT = 'A test is a real delivery: it is signed, and stands in the log below.'
const DELETED = 'It is told of nothing any more. Its log stays readable for 90 days.'
