import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { describeInBrowser } from '../support/browser.ts'
import type { PageState } from '../support/page-answers.ts'
import { batchArea } from '../support/page-batch-answers.ts'
import { SAMPLE_USER, samplePending, sampleReview } from '../support/page-samples.ts'
import { lookAtScenes } from '../support/page-scenes.ts'
import { usePageSuite } from '../support/page-suite.ts'

const LONG = 'wordwithoutspace'.repeat(30)
const PATH = `/a/${sampleReview().id}`
/** Of a window in which a dialog shows all it holds. */
const TALL = 5200

const LOST = { key_name: 'ops-agent-prod', account_name: 'Example Ltd', key_revoked: true } as const
const PRINCIPAL = { name: 'Bea Costa', approver: 'b1946ac92492d234', delegate: SAMPLE_USER.approver }

const PRECEDENTS: NonNullable<PageState['precedents']> = {
  ...{ by: 'tool', own: false, approved: 14, rejected: 1, at_least: false },
  last: { decision: 'approved', decided_at: new Date(Date.now() - 30 * 3_600_000).toISOString() },
  departures: [
    { field: 'tool_arguments.amount', how: 'times', times: 10, usual: 1200 },
    { field: 'iban\u202e', how: 'changed' },
    { field: `<b>bic</b>${LONG}`, how: 'changed' },
    { field: 'High impact: no', how: 'added' },
  ],
  more: 2,
}
const UNLIKE = [
  'Before: approved 14 times, rejected once, last approved yesterday.\n',
  '10 × the usual 1,200: tool_arguments.amount',
  `New value: iban[U+202E], <b>bic</b>${LONG.slice(0, 50)}… 430 more characters`,
  'New field: High impact: no',
  '… 2 more fields differ',
].join('\n')

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

async function openBatch(page: Page): Promise<void> {
  await page.getByRole('checkbox', { name: 'Select all' }).check()
  await press(page, 'Approve 3 selected')
  await page.locator('.decision-form').waitFor()
}

async function confirm(page: Page, button: string): Promise<void> {
  await page.getByRole('radio', { name: 'Code from an authenticator app' }).check()
  await page.getByLabel('Code from your authenticator app').fill('123456')
  await press(page, button)
}

describeInBrowser('deciding on several requests, for everybody', () => {
  const area = batchArea()
  const suite = usePageSuite(area)

  lookAtScenes(
    suite,
    { area, name: 'batch', path: '/' },
    {
      'several requests': { ready: '.inbox-row', height: TALL, act: openBatch },
      'several requests with all details': {
        ready: '.inbox-row',
        height: TALL,
        prepare: () => {
          const [first, ...others] = area.state.reviews
          if (first === undefined) throw new Error('the sample has requests')
          area.state.reviews = [sampleReview({ ...first, action: LONG, ...bare(LONG) }), ...others]
        },
        act: async (page) => {
          await openBatch(page)
          await press(page, 'Open all details')
        },
      },
      'what came of several requests': {
        ready: '.inbox-row',
        prepare: () => {
          area.state.lost = ['req_2']
        },
        act: async (page) => {
          await openBatch(page)
          await confirm(page, 'Approve 3 requests')
          await page.getByRole('heading', { name: '2 of 3 requests recorded' }).waitFor()
        },
      },
    },
  )
})

function bare(reason: string): Pick<ReturnType<typeof sampleReview>, 'context_json' | 'context_sha256'> {
  const { context_json, context_sha256 } = sampleReview({}, { reason })
  return { context_json, context_sha256 }
}

describeInBrowser('one request and the way on, for everybody', () => {
  const suite = usePageSuite()

  lookAtScenes(
    suite,
    { area: undefined, name: 'decided', path: PATH },
    {
      'a request for somebody else, of a revoked key, unlike those approved before': {
        ready: '.precedents',
        prepare: (_, state) => {
          state.review = sampleReview({ requested_by: LOST, on_behalf_of: PRINCIPAL })
          state.precedents = PRECEDENTS
        },
        act: async (page) => {
          expect(await page.locator('.precedents').innerText()).toBe(UNLIKE)
          // Beside the caller's frame, not in it.
          expect(await page.locator('.caller-box .precedents').count()).toBe(0)
        },
      },
      'a request that is the first of its tool': {
        ready: '.precedents',
        prepare: (_, state) => {
          const { last: _last, ...first } = {
            ...PRECEDENTS,
            approved: 0,
            rejected: 0,
            departures: [],
            more: 0,
          }
          state.precedents = first
        },
        act: async (page) =>
          expect(await page.locator('.precedents').innerText()).toBe(
            'First time on record: this API key asks for this tool.',
          ),
      },
      'the inbox for somebody else, of a revoked key': {
        path: '/',
        ready: '.inbox-row .tag.severe',
        prepare: (_, state) => {
          state.pending = [
            samplePending({ requested_by: LOST, on_behalf_of: PRINCIPAL }),
            samplePending({ id: 'req_next', high_impact: false }),
          ]
        },
      },
      'a decision, and one more request': {
        ready: '.decision-form',
        prepare: (_, state) => {
          state.pending = [samplePending({ id: 'req_next' })]
        },
        act: async (page) => {
          await confirm(page, 'Approve')
          await page.getByRole('link', { name: 'Next request' }).waitFor()
        },
      },
      'a decision, and nothing more': {
        ready: '.decision-form',
        act: async (page) => {
          await confirm(page, 'Reject')
          await page.getByRole('link', { name: 'Back to the inbox' }).waitFor()
        },
      },
    },
  )
})
