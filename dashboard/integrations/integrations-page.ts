import { get } from '../../webauthn-page/kit/api/request.ts'
import { el } from '../../webauthn-page/kit/dom/element.ts'
import type { PageContext, PageView } from '../shell/page-entry.ts'
import { chatSections } from './chat-sections.ts'
import { loadChatSetup } from './chat-setup.ts'
import { deadLettersSection } from './dead-letters-section.ts'
import { loadDeadLetters } from './load-deliveries.ts'
import { newWebhookSection } from './new-webhook.ts'
import { webhooksShape } from './webhook-shapes.ts'
import { webhooksSection } from './webhooks-section.ts'

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
