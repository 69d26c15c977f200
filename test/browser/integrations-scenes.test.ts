import type { Page } from 'playwright-core'
import { describeInBrowser } from '../support/browser.ts'
import { SAMPLE_CHANNEL, SAMPLE_IDENTITY } from '../support/page-chat-answers.ts'
import {
  type IntegrationsArea,
  integrationsArea,
  sampleDelivery,
  sampleWebhook,
} from '../support/page-integration-answers.ts'
import { lookAtScenes, type PageScene } from '../support/page-scenes.ts'
import { usePageSuite } from '../support/page-suite.ts'

const LONG = `https://hooks.example.com/${'wordwithoutspace'.repeat(12)}`
const HOSTILE = 'p\u0430ypal\u202e'
const press = (name: string) => (page: Page) => page.getByRole('button', { name }).first().click()

const SCENES: Record<string, PageScene<IntegrationsArea>> = {
  'nothing set up': { ready: '.not-set-up' },
  'webhooks of every kind': {
    prepare: (area) => {
      const until = '2026-11-22T08:00:00.000Z'
      area.webhooks = [
        sampleWebhook({ last_delivery: sampleDelivery() }),
        sampleWebhook({ id: 'whk_2', url: LONG, previous_secret_valid_until: until }),
        sampleWebhook({
          id: 'whk_3',
          state: 'disabled',
          disabled_at: '2026-11-19T10:00:00.000Z',
          last_delivery: sampleDelivery({
            state: 'dead',
            attempts: [{ at: '2026-11-19T10:00:00.000Z', outcome: 'http_410', duration_ms: 9 }],
          }),
        }),
      ]
    },
    ready: '.webhook-about',
  },
  'what was given up': {
    prepare: (area) => {
      area.deliveries = [
        sampleDelivery({ state: 'dead', event_type: 'callback', url: LONG }),
        sampleDelivery({ id: 'dlv_2', state: 'dead', request_id: undefined }),
      ]
      area.pageSize = 1
    },
    ready: '.delivery',
  },
  'a form that is refused': {
    ready: '.key-form',
    act: async (page) => {
      await press('Create the webhook')(page)
      await page.getByLabel('Address of the receiver').fill('https://a.example')
      await page.getByLabel('Only these').check()
      await press('Create the webhook')(page)
      await page.getByText('Choose at least one event.').waitFor()
    },
  },
  'a new webhook and its test': {
    prepare: (area) => {
      area.outcome = 'connect_failed'
    },
    ready: '.key-form',
    act: async (page) => {
      await page.getByLabel('Address of the receiver').fill(LONG)
      await press('Create the webhook')(page)
      await press('Send a test')(page)
      await page.getByText('no connection').waitFor()
    },
  },
  'a rotated secret': {
    prepare: (area) => {
      area.webhooks = [sampleWebhook()]
    },
    ready: '.webhook-about',
    act: async (page) => {
      await press('Rotate secret of')(page)
      await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click()
      await page.getByRole('heading', { name: 'The new secret' }).waitFor()
    },
  },
  'chat that is set up': {
    prepare: (area, { chat }) => {
      const installed_at = '2026-11-02T08:00:00.000Z'
      area.apps = {
        slack: {
          configured: true,
          mode: 'many',
          installations: [
            { tenant: 'T024BE7LD', name: 'Example Ltd', installed_at },
            { tenant: 'T0', name: HOSTILE, installed_at },
          ],
        },
        teams: { configured: true, tenants: ['7b1c4d1e-0000-4000-8000-5a5a5a5a5a5a'] },
      }
      chat.identities = [SAMPLE_IDENTITY]
      chat.channels = [SAMPLE_CHANNEL, { ...SAMPLE_CHANNEL, channel: 'C2', name: HOSTILE }]
    },
    ready: '.chat-entry',
  },
  'chat without a workspace': {
    prepare: (area) => {
      area.apps.slack = { configured: true, mode: 'many', installations: [] }
    },
    ready: 'text=Add to Slack',
  },
  'a log of every state': {
    prepare: (area) => {
      const at = '2026-11-20T09:00:00.000Z'
      const failed = { at, outcome: 'timeout', duration_ms: 10_000 }
      area.webhooks = [sampleWebhook({ url: LONG })]
      area.deliveries = [
        sampleDelivery({ id: 'dlv_1', state: 'sending', attempts: [] }),
        sampleDelivery({
          id: 'dlv_2',
          state: 'due',
          next_attempt_at: '2100-01-01T00:00:00.000Z',
          attempts: [failed],
        }),
        sampleDelivery({ id: 'dlv_3' }),
        sampleDelivery({ id: 'dlv_4', state: 'dead', attempts: [failed, failed, failed, failed, failed] }),
        sampleDelivery({ id: 'dlv_5', state: 'dropped', attempts: [], request_id: undefined }),
        sampleDelivery({ id: 'dlv_6' }),
      ]
      area.pageSize = 5
    },
    path: '/integrations/webhooks/whk_1',
    ready: '.delivery',
    act: (page) => page.getByText('5 attempts').click(),
  },
  'an empty log of a deleted webhook': {
    prepare: (area) => {
      area.webhooks = [sampleWebhook({ state: 'deleted' })]
    },
    path: '/integrations/webhooks/whk_1',
    ready: 'text=Nothing was sent',
  },
}

describeInBrowser('the pages of integrations, for everybody', () => {
  const area = integrationsArea()
  const suite = usePageSuite(area)

  lookAtScenes(suite, { area, name: 'integrations', path: '/integrations' }, SCENES)
})
