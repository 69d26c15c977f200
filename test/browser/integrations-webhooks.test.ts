import type { Page } from 'playwright-core'
import { beforeEach, expect, it } from 'vitest'
import { describeInBrowser, type Visitor } from '../support/browser.ts'
import { integrationsArea, sampleDelivery, sampleWebhook } from '../support/page-integration-answers.ts'
import { usePageSuite } from '../support/page-suite.ts'

const URL_1 = 'https://hooks.example.com/countersign'
const SHOWN_ONCE = /^(5ec7e7)+/

describeInBrowser('webhooks on the page of integrations', () => {
  const area = integrationsArea()
  const suite = usePageSuite(area)
  let visitor: Visitor
  let page: Page

  beforeEach(async () => {
    visitor = await suite.visit()
    page = visitor.page
  })
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
  const open = async (): Promise<void> => {
    await page.goto('/integrations')
    await page.getByRole('heading', { name: 'Integrations', exact: true }).waitFor()
  }
  const answer = async (yes: string): Promise<void> =>
    page.getByRole('dialog').getByRole('button', { name: yes, exact: true }).click()
  const about = async (): Promise<string[]> =>
    (await page.locator('.webhook-about').allInnerTexts()).map((text) => text.replace(/\s+/g, ' '))

  it('says what to do first when there is none', async () => {
    await open()
    expect(await page.getByRole('region', { name: 'Webhooks' }).innerText()).toContain(
      'There is no webhook yet. Create the first one below',
    )
  })

  it('says of each where it leads, what it is told, how it stands, and what came of the last delivery', async () => {
    area.webhooks = [
      sampleWebhook({
        last_delivery: sampleDelivery({
          attempts: [{ at: '2026-11-20T09:00:00.000Z', outcome: 'timeout', duration_ms: 10_000 }],
          state: 'due',
        }),
        previous_secret_valid_until: '2026-11-22T08:00:00.000Z',
      }),
      sampleWebhook({
        id: 'whk_2',
        state: 'disabled',
        disabled_at: '2026-11-19T10:00:00.000Z',
        events: ['key.created'],
      }),
    ]
    await page.clock.setFixedTime(new Date('2026-11-20T12:00:00.000Z'))
    await open()
    expect(await about()).toEqual([
      `${URL_1} Active Events: approval.approved, approval.rejected. The secret before the last rotation still signs, too, until 22 Nov 2026, 08:00:00 UTC. Last delivery 3 h ago: no answer in time, waiting for its next attempt.`,
      `${URL_1} Switched off Events: key.created. Switched off 19 Nov 2026, 10:00:00 UTC: its receiver answered with status 410 (gone), or the operator did it. Nothing is sent until you switch it on again; deliveries that were given up or dropped can be replayed from its log. Nothing has been sent to it yet.`,
    ])
    await press(`Switch on the webhook ${URL_1}`)
    await page.getByText('The webhook is on again.').waitFor()
    expect((await about())[1]).toContain('Active')
  })

  it('creates one for all events or some, shows the secret once and tries the receiver at once', async () => {
    await open()
    await page.getByLabel('Address of the receiver').fill(` ${URL_1} `)
    await press('Create the webhook')
    await page.getByRole('heading', { name: 'Your new webhook' }).waitFor()
    expect(area.sent).toEqual([{ url: URL_1 }])
    expect(await page.locator('.secret-box code').getByText(SHOWN_ONCE).innerText()).toMatch(SHOWN_ONCE)
    await press('Send a test')
    await page.getByText('The receiver accepted the test: answered with status 200, after 12 ms.').waitFor()
    await press('I saved the secret')
    await page.locator('.webhook-about').waitFor()
    expect((await about())[0]).toContain('answered with status 200.')
    expect(await page.content()).not.toMatch(/5ec7e75ec7e7/)
    await page.getByLabel('Address of the receiver').fill(URL_1)
    await page.getByLabel('Only these').check()
    await page.getByLabel('An API key is revoked').check()
    await press('Create the webhook')
    await page.getByRole('heading', { name: 'Your new webhook' }).waitFor()
    expect(area.sent.at(-1)).toEqual({ url: URL_1, events: ['key.revoked'] })
  })

  it('says no more that there is none as soon as one is made, and lists it once its secret is saved', async () => {
    await open()
    await page.getByLabel('Address of the receiver').fill(URL_1)
    await press('Create the webhook')
    await page.getByRole('heading', { name: 'Your new webhook' }).waitFor()
    const list = page.getByRole('region', { name: 'Webhooks', exact: true })
    expect(await list.innerText()).not.toContain('no webhook yet')
    expect(await list.innerText()).toContain('Your first webhook is below.')
    await press('I saved the secret')
    await list.locator('.webhook-about').waitFor()
    expect(await list.innerText()).not.toContain('Your first webhook is below.')
  })

  it('loses nothing of a form that is refused, and says at the field what is wrong', async () => {
    await open()
    await press('Create the webhook')
    await page.getByText('Enter the address of the receiver.').waitFor()
    area.refuse = { code: 'invalid_field', details: { field: 'url', detail: 'must be an https: URL' } }
    await page.getByLabel('Address of the receiver').fill('http://10.0.0.1/')
    await page.getByLabel('Only these').check()
    await press('Create the webhook')
    await page.getByText('Choose at least one event.').waitFor()
    await page.getByLabel('An API key is made').check()
    await press('Create the webhook')
    await page.getByText('must be an https: URL').waitFor()
    expect(await page.evaluate('document.activeElement.name')).toBe('url')
    area.refuse = { code: 'webhook_limit' }
    await press('Create the webhook')
    await page.getByRole('region', { name: 'Create a webhook' }).getByText('limit of 20').waitFor()
    expect(await page.getByLabel('Address of the receiver').inputValue()).toBe('http://10.0.0.1/')
    expect(await page.getByLabel('An API key is made').isChecked()).toBe(true)
  })

  it.each([
    ['http_204', 'The receiver accepted the test: answered with status 204'],
    ['http_302', 'Redirects are not followed'],
    ['http_401', 'Does it check the signature with the secret of this webhook?'],
    ['http_404', 'Is the path of the address right?'],
    ['http_410', 'To an event, 410 switches the webhook off.'],
    ['http_500', 'It must answer with a status from 200 to 299.'],
    ['blocked', 'Only public addresses may be called.'],
    ['connect_failed', 'Is it running, reachable from this service'],
    ['timeout', 'It must answer at once and do its work afterwards.'],
  ])('says what came of a test that ends with %s, and what to look at', async (outcome, words) => {
    area.webhooks = [sampleWebhook()]
    area.outcome = outcome
    await open()
    await press(`Send a test to ${URL_1}`)
    await page.locator('.row-panel').getByText(words).waitFor()
    expect((await about())[0]).not.toContain('Nothing has been sent to it yet.')
  })

  it('says why a test was not sent', async () => {
    area.webhooks = [sampleWebhook()]
    area.refuse = { code: 'test_in_progress' }
    await open()
    await press(`Send a test to ${URL_1}`)
    await page.locator('.row-panel .notice.error').waitFor()
    expect(await page.locator('.row-panel .notice').count()).toBe(1)
  })

  it('rotates the secret after a question that explains the day of both, shown once', async () => {
    area.webhooks = [sampleWebhook()]
    await open()
    await press(`Rotate secret of ${URL_1}`)
    expect(await page.getByRole('dialog').innerText()).toContain(
      'For 24 hours every delivery is signed with both',
    )
    expect(await page.getByRole('dialog').innerText()).not.toContain('the oldest secret ends at once')
    await answer('Cancel')
    expect(area.sent).toEqual([])
    await press(`Rotate secret of ${URL_1}`)
    await answer('Rotate')
    await press(`Send a test to ${URL_1}`)
    await page.locator('.row-panel .notice').waitFor()
    expect(await page.locator('.row-panel .secret-box code').innerText()).toMatch(SHOWN_ONCE)
    await press('I saved the secret')
    await page.getByText('The secret is rotated.').waitFor()
    expect(await page.content()).not.toMatch(/5ec7e75ec7e7/)
    await press(`Rotate secret of ${URL_1}`)
    expect(await page.getByRole('dialog').innerText()).toContain('the oldest secret ends at once')
  })

  it('asks before one is deleted, and says why it was not', async () => {
    area.webhooks = [sampleWebhook()]
    area.refuse = { code: 'not_found' }
    await open()
    await press(`Delete the webhook ${URL_1}`)
    await answer('Delete')
    await page.locator('.row-panel').getByText('There is no such resource').waitFor()
    area.refuse = undefined
    await press(`Delete the webhook ${URL_1}`)
    await answer('Delete')
    await page.getByText('The webhook is deleted.').waitFor()
    expect(await about()).toEqual([])
  })

  it('lists what was given up, of callbacks too, page by page, and replays it', async () => {
    area.deliveries = (['callback', 'key.created', 'key.revoked'] as const).map((event_type, n) =>
      sampleDelivery({
        id: `dlv_${n}`,
        event_id: `evt_${n}`,
        event_type,
        state: 'dead',
        url: `${URL_1}/${n}`,
      }),
    )
    area.pageSize = 2
    await open()
    const part = page.getByRole('region', { name: 'Given up' })
    expect(await part.locator('.delivery').count()).toBe(2)
    expect(await part.innerText()).toContain(`To ${URL_1}/0`)
    await part.getByRole('button', { name: 'Show more' }).click()
    await part.getByText(`To ${URL_1}/2`).waitFor()
    area.refuse = { code: 'webhook_gone' }
    await press('Replay key.revoked, evt_2')
    await part.locator('.notice.error').waitFor()
    area.refuse = undefined
    await press('Replay callback, evt_0')
    await page.getByText('The delivery is on its way again.').waitFor()
    expect(await part.getByText(`To ${URL_1}/0`).count()).toBe(0)
    area.deliveries = []
    await open()
    expect(await part.count()).toBe(0)
  })

  it('shows addresses as text (T43, T45)', async () => {
    const url = 'https://a.example/<script>alert(1)</script>\u202e'
    area.webhooks = [sampleWebhook({ url })]
    await open()
    const shown = url.replace('\u202e', '[U+202E]')
    expect(await page.locator('.webhook-about bdi.caller-text').innerText()).toBe(shown)
    expect(await page.locator('.text-flag').count()).toBe(1)
    await press(`Delete the webhook ${shown}`)
    expect(await page.getByRole('dialog').innerText()).toContain(shown)
    expect(visitor.incidents).toEqual([])
  })
})
