import { expect, it } from 'vitest'
import type { Card } from '../../dashboard/requests/request-shapes.ts'
import { parsePolicy } from '../../src/signing/log/policy.ts'
import { describeInBrowser } from '../support/browser.ts'
import { makeBundle } from '../support/bundles.ts'
import type { PageState } from '../support/page-answers.ts'
import {
  decidedRow,
  type HistoryArea,
  historyArea,
  KEY_ID,
  sampleDecided,
  sampleDelivery,
  sampleEntry,
  sampleRow,
} from '../support/page-history-answers.ts'
import { busyOverview, peopleArea } from '../support/page-people-answers.ts'
import { SAMPLE_USER, sampleReview } from '../support/page-samples.ts'
import { lookAtScenes, type PageScene } from '../support/page-scenes.ts'
import { usePageSuite } from '../support/page-suite.ts'

const REQUEST = `/a/${sampleReview().id}`
const HOSTILE = `Pay \u202Eevil\u202C <img src=x onerror=alert(1)> p\u0430ypal\u200b${'x'.repeat(420)}`

const ROWS = [
  sampleRow({ quorum: { needed: 2, approved: 1 } }),
  decidedRow('approved', { sandbox: true, high_impact: false, action: 'Deploy version 1.4.2 to production' }),
  decidedRow('rejected', { action: HOSTILE }),
  sampleRow({
    status: 'expired',
    high_impact: false,
    requested_by: { key_name: HOSTILE, account_name: 'x' },
  }),
  sampleRow({ status: 'expired', cancelled: true, action: 'Restart the search cluster' }),
]

const ENTRIES = [
  sampleEntry(),
  sampleEntry({
    seq: 40,
    type: 'key.revoked',
    actor: { kind: 'user', id: 'usr_2', address: '2001:db8::7' },
    subject: KEY_ID,
  }),
  sampleEntry({
    seq: 39,
    type: 'approval.voted',
    actor: { kind: 'user', id: SAMPLE_USER.id },
    detail: { decision: 'approved', method: 'passkey', on_behalf_of: 'usr_2' },
  }),
  sampleEntry({
    seq: 38,
    type: 'delivery.exhausted',
    actor: { kind: 'service' },
    subject: 'dlv_1',
    detail: { target: 'callback', request_id: sampleReview().id, outcome: HOSTILE },
  }),
  sampleEntry({ seq: 37, type: 'approval.verified', actor: { kind: 'public' }, detail: { result: 'valid' } }),
  sampleEntry({
    seq: 36,
    type: 'future.thing',
    actor: { kind: 'chat', id: 'slack:T1:U1' },
    subject: HOSTILE,
  }),
]

const CARD: Card = {
  id: 'crd_1',
  platform: 'slack',
  recipient: 'approver',
  approver: '7f3a09c2d41be865',
  state: 'unreachable',
  next_attempt_at: null,
  attempts: [{ at: '2026-11-20T09:30:01.000Z', what: 'post', outcome: 'unreachable', duration_ms: 120 }],
  created_at: '2026-11-20T09:30:00.000Z',
}

/** Of the account that asked. */
const OWNER: PageState['accounts'] = [
  { id: sampleReview().requester.account, name: 'Company', role: 'owner', own: true },
]

const people = peopleArea()

const SCENES: Record<string, PageScene<HistoryArea>> = {
  'history with filters': {
    prepare: (area) => {
      people.overview = busyOverview('deploy')
      area.pageSize = 5
      area.rows = [...ROWS, ...ROWS]
    },
    path: '/requests?status=pending&person=usr_2',
    ready: '.data-table',
    act: async (page) => {
      const totals = page.getByText('Live requests of the last 30 days (UTC): ')
      expect(await totals.innerText()).toMatch(
        /: 12 pending · 12,345 approved · 45 rejected · 36 expired or withdrawn$/,
      )
      expect(await totals.getByRole('link', { name: '36 expired' }).getAttribute('href')).toBe(
        '/requests?status=expired&sandbox=false&from=2026-10-31',
      )
      // They would read as what the search found.
      const search = page.getByRole('searchbox', { name: 'Search' })
      await search.fill('deploy')
      await totals.waitFor({ state: 'hidden' })
      await search.fill('')
      await totals.waitFor()
    },
  },
  'empty history': { path: '/requests', ready: '.history' },
  'history with a wrong filter': {
    prepare: (area) => {
      area.refuse = { field: 'from', detail: 'must be a day or a time such as 2026-03-04T09:30:00Z' }
    },
    path: '/requests?from=yesterday',
    ready: '[aria-invalid="true"]',
  },
  'decided request with its deliveries': {
    prepare: (area, state) => {
      state.review = sampleDecided()
      state.accounts = OWNER
      const at = '2026-11-20T09:30:09.000Z'
      const witnesses = ['witness.example.org', `${'w'.repeat(60)}.example`].map((name) => ({ name, at }))
      state.proof = { ...state.proof, log: 'witnessed', origin: 'o', index: 41, size: 44, witnesses }
      const failed = sampleDelivery({
        id: 'dlv_2',
        target: 'webhook',
        webhook_id: 'whk_3V9K2M7Q4R8S1T6W5X0YZABCDE',
        event_type: 'approval.approved',
        url: `https://example.com/${'x'.repeat(300)}`,
        state: 'due',
        next_attempt_at: '2026-11-20T09:36:00.000Z',
      })
      area.pageSize = 2
      area.log = {
        data: [sampleDelivery(), failed, sampleDelivery()],
        next_cursor: null,
        cards: [CARD],
        notifications: [],
        quiet: [],
      }
    },
    path: REQUEST,
    ready: '.attempts',
    act: async (page) => {
      await page.getByText('Witnessed by').waitFor()
      await page.getByText('Signed receipt').click()
      await page.locator('.attempts > summary').first().click()
    },
  },
  'request that waits for this person, unfolded': {
    prepare: (area, state) => {
      state.accounts = OWNER
      area.entries = [sampleEntry()]
    },
    path: REQUEST,
    ready: '.panel',
    act: async (page) => {
      await page.getByText('Timeline and earlier requests').click()
      await page.getByRole('button', { name: 'Withdraw the request' }).waitFor()
    },
  },
  'audit log': {
    prepare: (area) => {
      area.entries = [...ENTRIES, ...ENTRIES]
      area.pageSize = 6
      area.names = { usr_2: 'Ann Other', [KEY_ID]: 'deploy' }
    },
    path: '/audit',
    ready: '.audit-entry',
    act: async (page) => {
      await page.getByRole('button', { name: 'More of entry 41' }).first().click()
      await page.getByText('Entry 41, raw').click()
      const { bundle, policy } = await makeBundle({ leaves: 12_345 })
      const [, ...note] = bundle.log?.proof.split('\n\n') ?? []
      const [vkey = '', cosigner = ''] = policy.split('\n').map((line) => line.split(' ').at(-1) ?? '')
      const json = {
        origin: vkey.split('+')[0],
        vkey,
        url: 'https://approve.example/log',
        witnesses: [{ vkey: cosigner, url: 'https://w.example' }],
        former: [],
      }
      await page.route('**/.well-known/countersign-log', (route) => route.fulfill({ json }))
      await page.route('**/log/checkpoint', (route) => route.fulfill({ body: note.join('\n\n') }))
      await page.getByText('The log, and how others check it').click()
      await page.getByText('12,345').waitFor()
      const shown = await page.getByRole('group', { name: 'the trust policy' }).innerText()
      const { quorum, witnesses } = await parsePolicy(shown)
      expect([quorum, witnesses.get('w1')?.key.name]).toEqual(['w1', 'witness-1.example.org'])
      expect(await page.locator('.facts', { hasText: 'Witnessed by' }).innerText()).toMatch(
        /witness-1\.example\.org 1 Jun/,
      )
    },
  },
  'audit log where nothing matches': {
    path: '/audit?type=key.created&actor=usr_1&from=2026-11-01',
    ready: '.history',
  },
}

describeInBrowser('history and audit log for everybody', () => {
  const area = historyArea()
  const suite = usePageSuite(area, people)

  lookAtScenes(suite, { area, name: 'history', path: '/requests' }, SCENES)

  it('is searched, narrowed, read and left with the keyboard alone', async () => {
    area.rows = ROWS
    const { page } = await suite.visit({ viewport: { width: 1440, height: 900 } })
    await page.goto('/requests')
    await page.locator('.data-table').waitFor()
    const focused = (): Promise<unknown> =>
      page.evaluate(
        `(({ name, tagName, textContent }) => tagName === 'INPUT' || tagName === 'SELECT' ? name : textContent)(document.activeElement)`,
      )
    const tabTo = async (target: string): Promise<void> => {
      for (let presses = 0; presses < 40; presses += 1) {
        if ((await focused()) === target) return
        await page.keyboard.press('Tab')
      }
      throw new Error(`Tab never reached ${target}`)
    }
    await tabTo('q')
    await page.keyboard.type('deploy')
    await tabTo('Filters')
    await page.keyboard.press('Enter')
    await tabTo('status')
    await page.keyboard.press('ArrowDown')
    await page.waitForURL('**/requests?q=deploy&status=pending')
    // Rows of an earlier answer would go from under the focus.
    await page
      .getByRole('link', { name: 'Download CSV' })
      .and(page.locator('[href*="status=pending"]'))
      .waitFor()
    await page.getByRole('heading', { name: '5 requests found' }).waitFor()
    await tabTo(ROWS[0]?.action ?? '')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Approve or reject this action?' }).waitFor()
    await tabTo('Timeline and earlier requests')
    await page.goBack()
    await page.getByRole('heading', { name: '5 requests found' }).waitFor()
  })
})
