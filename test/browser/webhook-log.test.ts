import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { beforeEach, expect, it } from 'vitest'
import { describeInBrowser } from '../support/browser.ts'
import { integrationsArea, sampleDelivery, sampleWebhook } from '../support/page-integration-answers.ts'
import { usePageSuite } from '../support/page-suite.ts'

const PAGE = '/integrations/webhooks/whk_1'
const AT = '2026-11-20T09:00:00.000Z'
const FAILED = { at: AT, outcome: 'timeout', duration_ms: 10_000 }

describeInBrowser('the delivery log of a webhook', () => {
  const area = integrationsArea()
  const suite = usePageSuite(area)
  let page: Page

  beforeEach(async () => {
    area.webhooks = [sampleWebhook()]
    page = (await suite.visit()).page
  })
  const rows = async (): Promise<string[]> =>
    (await page.locator('.delivery').allInnerTexts()).map((row) => row.replace(/\s+/g, ' '))
  const open = async (path = PAGE): Promise<void> => {
    await page.goto(path)
    await page.getByRole('heading', { name: 'Delivery log' }).waitFor()
  }
  const looks = () => suite.server().calls.filter((call) => call.endsWith('/deliveries')).length

  it('says of each delivery what it told, how it stands, and each attempt', async () => {
    area.deliveries = [
      sampleDelivery({
        id: 'dlv_2',
        state: 'due',
        next_attempt_at: '2026-11-20T12:10:30.000Z',
        attempts: [FAILED],
      }),
      sampleDelivery(),
      sampleDelivery({
        id: 'dlv_3',
        state: 'dead',
        attempts: [FAILED, { ...FAILED, outcome: 'http_503', duration_ms: 7 }],
      }),
      sampleDelivery({ id: 'dlv_4', state: 'dropped', attempts: [], request_id: undefined }),
    ]
    await page.clock.setFixedTime(new Date('2026-11-20T12:00:00.000Z'))
    await open()
    const when = '3 h ago'
    expect(await rows()).toEqual([
      `approval.approved Waiting for its next attempt ${when} · evt_1 Next attempt in 10 min 1 attempt, the last: no answer in time`,
      `approval.approved Delivered ${when} · evt_1 1 attempt, the last: answered with status 200 Replay`,
      `approval.approved Given up ${when} · evt_1 2 attempts, the last: answered with status 503 Replay`,
      `approval.approved Dropped ${when} · evt_1 Replay`,
    ])
    const box = (at: number) => page.locator('.delivery').nth(at).boundingBox()
    expect((await box(0))?.y, 'high on the page of a desk').toBeLessThanOrEqual(700)
    expect((await box(1))?.height).toBeLessThanOrEqual(50)
    await page.getByText('2 attempts').click()
    expect((await rows())[2]).toContain('20 Nov 2026, 09:00:00 UTC: no answer in time (10000 ms)')
    expect(
      await page
        .getByRole('link', { name: /its request/ })
        .first()
        .getAttribute('href'),
    ).toBe('/a/req_1')
  })

  it('is narrowed at once, the address says how, and the file has all of that', async () => {
    area.deliveries = [
      sampleDelivery({ id: 'dlv_2', event_id: 'evt_2', state: 'dead' }),
      sampleDelivery(),
      sampleDelivery({ id: 'dlv_0', event_id: 'evt_0', state: 'dead' }),
    ]
    area.pageSize = 1
    await open()
    await page.getByLabel('State').selectOption('Given up')
    await expect.poll(() => new URL(page.url()).search).toBe('?state=dead')
    await page.getByRole('link', { name: 'Older' }).and(page.locator('[href*="state=dead"]')).click()
    await page.getByText('evt_0').waitFor()
    expect(new URL(page.url()).search).toBe('?state=dead&cursor=1')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download NDJSON' }).click(),
    ])
    const lines = (await readFile(await download.path(), 'utf8')).trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).id)).toEqual(['dlv_2', 'dlv_0'])
    area.deliveries = Array.from({ length: 2_001 }, (_, n) =>
      sampleDelivery({ id: `dlv_${n}`, state: 'dead' }),
    )
    area.pageSize = 100
    const [bounded] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download NDJSON' }).click(),
    ])
    expect((await readFile(await bounded.path(), 'utf8')).trim().split('\n')).toHaveLength(2_000)
    await page.getByText('Note: The file has the newest 2,000.').waitFor()
    await page.getByLabel('Event').selectOption('webhook.test')
    await page.getByText('No delivery fits these filters.').waitFor()
  })

  it('goes page by page, and each page has an address', async () => {
    area.deliveries = Array.from({ length: 5 }, (_, n) =>
      sampleDelivery({ id: `dlv_${n}`, event_id: `evt_${n}` }),
    )
    area.pageSize = 2
    await open()
    expect((await rows()).map((row) => row.match(/evt_\d/)?.[0])).toEqual(['evt_0', 'evt_1'])
    await page.getByRole('link', { name: 'Older' }).click()
    await page.getByText('evt_2').waitFor()
    expect(new URL(page.url()).search).toBe('?cursor=2')
    await page.getByRole('link', { name: 'Older' }).click()
    await page.getByText('evt_4').waitFor()
    expect(await page.getByRole('link', { name: 'Older' }).count()).toBe(0)
    await page.getByRole('link', { name: 'Newest' }).click()
    await page.getByText('evt_0').waitFor()
    await page.goBack()
    await page.getByText('evt_4').waitFor()
  })

  it('replays one delivery and follows it until it rests, with the row open and focused', async () => {
    await page.clock.install()
    area.deliveries = [
      sampleDelivery({ state: 'dead', attempts: [FAILED] }),
      sampleDelivery({ id: 'dlv_0', event_id: 'evt_0' }),
    ]
    await open()
    await page.getByText('the last: no answer in time').click()
    await page.getByRole('button', { name: 'Replay approval.approved, evt_1' }).click()
    await page.clock.runFor(100)
    await page.locator('.delivery').getByText('Being sent').waitFor()
    expect(await page.getByRole('button', { name: 'Replay approval.approved, evt_1' }).count()).toBe(0)
    expect(await page.evaluate('document.activeElement.tagName')).toBe('SUMMARY')
    const [first] = area.deliveries
    const attempts = [FAILED, { ...FAILED, outcome: 'http_200', duration_ms: 5 }]
    area.deliveries[0] = { ...(first ?? expect.unreachable()), state: 'delivered', attempts }
    await page.clock.runFor(3500)
    await page.getByText('2 attempts, the last: answered with status 200').waitFor()
    expect(await page.locator('.delivery details').first().getAttribute('open')).toBe('')
    expect(await page.locator('#announcements').innerText()).toBe('Every delivery is finished')
  })

  it('asks seldom while nothing is on its way, and not at all about older pages', async () => {
    await page.clock.install()
    area.deliveries = [sampleDelivery(), sampleDelivery({ id: 'dlv_0' })]
    area.pageSize = 1
    await open()
    const before = looks()
    await page.clock.runFor(31_000)
    expect(looks() - before).toBeLessThanOrEqual(2)
    area.deliveries.unshift(sampleDelivery({ id: 'dlv_9', event_id: 'evt_9' }))
    await page.clock.runFor(16_000)
    await page.getByText('evt_9').waitFor()
    await page.getByRole('link', { name: 'Older' }).click()
    await page.getByRole('link', { name: 'Newest' }).waitFor()
    const then = looks()
    await page.clock.runFor(60_000)
    expect(looks()).toBe(then)
  })

  it('says in place why a delivery was not replayed, and that the log may be old', async () => {
    await page.clock.install()
    area.deliveries = [sampleDelivery({ state: 'sending', attempts: [] }), sampleDelivery({ id: 'dlv_0' })]
    area.refuse = { code: 'webhook_gone' }
    await open()
    await page.getByRole('button', { name: /^Replay/ }).click()
    await page.locator('.notice.error').waitFor()
    await page.route('**/deliveries', (route) => route.abort())
    await page.clock.runFor(3500)
    await page.getByText('This log may be out of date.').waitFor()
    expect(await page.locator('.delivery').count()).toBe(2)
  })

  it('tests the receiver from here, and the log shows it', async () => {
    area.outcome = 'http_500'
    await open()
    await page.getByText('Nothing was sent to this webhook yet.').waitFor()
    await page.getByRole('button', { name: /^Send a test/ }).click()
    await page.getByText('It must answer with a status from 200 to 299.').waitFor()
    await page.locator('.delivery').getByText('webhook.test').waitFor()
  })

  it('stays readable for a deleted webhook, without anything to do there', async () => {
    area.webhooks = [sampleWebhook({ state: 'deleted' })]
    area.deliveries = [sampleDelivery()]
    await open()
    expect(await page.getByRole('button', { name: /Replay|test|Rotate|Delete/ }).count()).toBe(0)
    expect(await page.locator('main').innerText()).toContain('It receives no more events.')
    area.deliveries = []
    await open()
    await page.getByText('Nothing was sent to this webhook.').waitFor()
    expect(await page.locator('main').innerText()).not.toContain('Send a test')
  })

  it('says so for a webhook that does not exist', async () => {
    await page.goto('/integrations/webhooks/whk_unknown')
    await page.getByText('There is no such resource').waitFor()
  })
})
