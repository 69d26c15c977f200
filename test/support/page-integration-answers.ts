import type { ChatApps, Delivery, Webhook } from '../../dashboard/integrations/integration-shapes.ts'
import { type RefusalCode, refusal } from '../../src/domain/errors.ts'
import type { PageArea, Params } from './page-area.ts'

/** What the server says about webhooks and chat; tests set it. */
export interface IntegrationsArea extends PageArea {
  webhooks: Webhook[]
  /** The whole log of every webhook, newest first; pages hold `pageSize`. */
  deliveries: Delivery[]
  pageSize: number
  apps: ChatApps
  /** How the next test ends. */
  outcome: string
  refuse: { code: RefusalCode; details?: { field?: string; detail?: string } } | undefined
  sent: Record<string, unknown>[]
}

const CREATED = '2026-11-02T08:00:00.000Z'
const SECRET = '5ec7e7'.repeat(11).slice(0, 64)

export function sampleWebhook(changes: Partial<Webhook> = {}): Webhook {
  return {
    id: 'whk_1',
    url: 'https://hooks.example.com/countersign',
    events: ['approval.approved', 'approval.rejected'],
    state: 'active',
    created_at: CREATED,
    disabled_at: null,
    previous_secret_valid_until: null,
    last_delivery: null,
    ...changes,
  }
}

export function sampleDelivery(changes: Partial<Delivery> = {}): Delivery {
  return {
    id: 'dlv_1',
    target: 'webhook',
    webhook_id: 'whk_1',
    event_id: 'evt_1',
    event_type: 'approval.approved',
    request_id: 'req_1',
    url: 'https://hooks.example.com/countersign',
    state: 'delivered',
    next_attempt_at: null,
    attempts: [{ at: '2026-11-20T09:00:00.000Z', outcome: 'http_200', duration_ms: 41 }],
    created_at: '2026-11-20T09:00:00.000Z',
    ...changes,
  }
}

/** Nothing set up yet. */
export function integrationsArea(): IntegrationsArea {
  const area: IntegrationsArea = {
    webhooks: [],
    deliveries: [],
    pageSize: 20,
    apps: nothing(),
    outcome: 'http_200',
    refuse: undefined,
    sent: [],
    reset() {
      const { webhooks, deliveries, pageSize, apps, outcome, refuse, sent } = integrationsArea()
      Object.assign(area, { webhooks, deliveries, pageSize, apps, outcome, refuse, sent })
    },
    routes: ({ body, query }) => {
      const change = (work: (params: Params) => unknown) => (params: Params) => {
        area.sent.push(body)
        if (area.refuse !== undefined) throw refusal(area.refuse.code, area.refuse.details)
        return work(params)
      }
      const find = ({ id }: Params): Webhook => {
        const found = area.webhooks.find((webhook) => webhook.id === id)
        if (found === undefined) throw refusal('not_found')
        return found
      }
      return {
        'GET /account/webhooks': () => ({
          data: area.webhooks.filter(({ state }) => state !== 'deleted'),
          next_cursor: null,
        }),
        'POST /account/webhooks': change(() => create(area, body)),
        'GET /account/webhooks/:id': find,
        'DELETE /account/webhooks/:id': change((params) => Object.assign(find(params), { state: 'deleted' })),
        'POST /account/webhooks/:id/enable': change((params) =>
          Object.assign(find(params), { state: 'active', disabled_at: null }),
        ),
        'POST /account/webhooks/:id/rotate': change((params) => rotate(find(params))),
        'POST /account/webhooks/:id/test': change((params) => test(area, find(params))),
        'GET /account/webhooks/:id/deliveries': (params) => find(params) && page(area, query),
        'GET /account/dead-letters': () => page({ ...area, deliveries: dead(area) }, query),
        'POST /deliveries/:id/replay': change(({ id }) => replay(area, id)),
        'GET /account/chat-apps': () => area.apps,
        'POST /account/chat-apps/remove': change(() => {
          const { slack } = area.apps
          slack.installations = slack.installations.filter(({ tenant }) => tenant !== body.tenant)
          return { ok: true }
        }),
      }
    },
  }
  return area
}

function nothing(): ChatApps {
  return {
    slack: { configured: false, mode: null, installations: [] },
    teams: { configured: false, tenants: [] },
  }
}

function create(area: IntegrationsArea, { url, events }: Record<string, unknown>): object {
  const id = `whk_${area.webhooks.length + 1}`
  const chosen = Array.isArray(events) ? { events: events.map(String) } : {}
  const webhook = Object.assign(sampleWebhook({ id, url: String(url) }), chosen)
  area.webhooks.push(webhook)
  return { webhook, secret: SECRET }
}

function rotate(webhook: Webhook): object {
  const until = new Date(Date.now() + 86_400_000).toISOString()
  webhook.previous_secret_valid_until = until
  return { webhook, secret: SECRET, previous_secret_valid_until: until }
}

function test(area: IntegrationsArea, webhook: Webhook): Delivery {
  const { outcome } = area
  const n = area.deliveries.length + 1
  const delivery = sampleDelivery({
    id: `dlv_t${n}`,
    event_id: `evt_t${n}`,
    event_type: 'webhook.test',
    request_id: undefined,
    state: outcome.startsWith('http_2') ? 'delivered' : 'dead',
    attempts: [{ at: new Date().toISOString(), outcome, duration_ms: 12 }],
    created_at: new Date().toISOString(),
  })
  webhook.last_delivery = delivery
  area.deliveries.unshift(delivery)
  return delivery
}

function replay({ deliveries }: IntegrationsArea, id: string | undefined): Delivery {
  const found = deliveries.find((delivery) => delivery.id === id)
  if (found === undefined) throw refusal('not_found')
  return Object.assign(found, { state: 'sending', next_attempt_at: null })
}

function dead({ deliveries }: IntegrationsArea): Delivery[] {
  return deliveries.filter(({ state }) => state === 'dead')
}

function page(
  { deliveries, pageSize }: Pick<IntegrationsArea, 'deliveries' | 'pageSize'>,
  query: URLSearchParams,
): object {
  const fits = (name: string, value: string): boolean => (query.get(name) ?? value) === value
  const all = deliveries.filter((one) => fits('state', one.state) && fits('event', one.event_type))
  const start = Number(query.get('cursor') ?? 0)
  const end = start + pageSize
  return { data: all.slice(start, end), next_cursor: end < all.length ? String(end) : null }
}
