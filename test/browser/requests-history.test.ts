import type { Locator } from 'playwright-core'
import { beforeEach, expect, it } from 'vitest'
import { describeInBrowser, type Visitor } from '../support/browser.ts'
import { decidedRow, historyArea, KEY_ID, sampleRow } from '../support/page-history-answers.ts'
import { usePageSuite } from '../support/page-suite.ts'

const LONG = `Transfer ${'0123456789'.repeat(40)}`

describeInBrowser('the history of requests', () => {
  const area = historyArea()
  const suite = usePageSuite(area)
  let visitor: Visitor

  beforeEach(async () => {
    visitor = await suite.visit({ viewport: { width: 1440, height: 900 } })
  })
  const rows = (): Locator => visitor.page.locator('.data-table tbody tr')
  const heading = (name: string): Locator => visitor.page.getByRole('heading', { name, exact: true })
  const open = async (path = '/requests'): Promise<void> => {
    await visitor.page.goto(path)
    await visitor.page.getByRole('heading', { name: 'Requests', exact: true }).waitFor()
  }
  const focused = (): Promise<unknown> => visitor.page.evaluate('document.activeElement.textContent')

  it('says of each request how it stands, what was asked by whom and when, and who decided how', async () => {
    area.rows = [
      sampleRow({ quorum: { needed: 3, approved: 1 } }),
      decidedRow('rejected', { sandbox: true, action: 'Drop the table' }),
      sampleRow({ status: 'expired', cancelled: true, high_impact: false }),
      decidedRow('approved', { quorum: { needed: 2, approved: 2 } }),
    ]
    await open()
    await heading('4 requests').waitFor()
    const [pending = '', rejected = '', withdrawn = '', together = ''] = await rows().allInnerTexts()
    expect(together).toContain('2 of 2 approvals · last by Ana Pereira · Passkey')
    for (const text of ['Pending', 'High impact', 'ops-agent-prod', '1 of 3 approvals', 'expires in'])
      expect(pending).toContain(text)
    for (const text of ['Rejected', 'Sandbox', 'Drop the table', 'Ana Pereira · Passkey'])
      expect(rejected).toContain(text)
    await rows().nth(1).getByRole('button', { name: 'Ana Pereira' }).click()
    expect(await rows().nth(1).innerText()).toContain('Ana Pereira 7f3a09c2d41be865 · Passkey')
    expect(withdrawn).toContain('Withdrawn')
    expect(withdrawn).toContain('No decision')
    expect(withdrawn).not.toContain('High impact')
  })

  it('gives a short action one line and a long one two, leads to it from end to end, and says its times exactly on hover', async () => {
    const created_at = '2026-11-25T12:00:00.000Z'
    area.rows = [
      sampleRow({ action: LONG }),
      ...Array.from({ length: 20 }, (_, at) => sampleRow({ id: `req_${at}`, action: 'Short', created_at })),
    ]
    await visitor.page.clock.setFixedTime(new Date('2026-11-25T12:00:40.000Z'))
    await open()
    const boxes = await Promise.all((await rows().all()).map((row) => row.boundingBox()))
    for (const [at, box] of boxes.entries()) expect(box?.height).toBeLessThanOrEqual(at === 0 ? 60 : 48)
    expect(boxes.filter((box) => box !== null && box.y + box.height <= 900).length).toBeGreaterThanOrEqual(11)
    const time = rows().nth(1).locator('.col-when time')
    expect(await time.innerText()).toBe('just now')
    expect(await time.getAttribute('title')).toBe('25 Nov 2026, 12:00:00 UTC')
    // Where the asker stands: the link lies over the whole line.
    await rows().nth(1).locator('.col-asker').click({ force: true })
    await visitor.page.waitForURL('**/a/req_0')
  })

  it('names nobody where the sandbox decided', async () => {
    const row = decidedRow('approved', { sandbox: true })
    area.rows = [{ ...row, decision: row.decision && { ...row.decision, method: 'sandbox' } }]
    await open()
    const text = await rows().innerText()
    expect(text).toContain('Decided by the sandbox, no person')
    expect(text).not.toContain('Ana Pereira')
  })

  it('shows hostile text as text, with its hidden characters named', async () => {
    area.rows = [
      sampleRow({
        action: '<img src=x onerror=alert(1)> \u202Egpj.exe',
        requested_by: { key_name: '<b>key</b>\u200b', account_name: 'x' },
      }),
    ]
    await open()
    const text = await rows().innerText()
    expect(text).toContain('<img src=x onerror=alert(1)> [U+202E]gpj.exe')
    expect(text).toContain('<b>key</b>[U+200B]')
    expect(text).toContain('Hidden characters')
    expect(await rows().locator('img, b').count()).toBe(0)
    expect(visitor.incidents).toEqual([])
  })

  it('is narrowed as one types, and keeps it in the address and in the files', async () => {
    area.rows = [sampleRow()]
    await open()
    await visitor.page.getByLabel('Search').fill('  invoices ')
    await visitor.page.getByText('Filters', { exact: true }).click()
    await visitor.page.getByLabel('Status').selectOption('pending')
    await visitor.page.getByLabel('API key').selectOption('')
    await visitor.page.getByLabel('Created on or after').fill('2026-11-01')
    await heading('1 request found').waitFor()
    await visitor.page.waitForURL('**/requests?q=invoices&status=pending&from=2026-11-01')
    const from = await visitor.page.evaluate(`new Date(2026, 10, 1).toISOString()`)
    const filters = new URLSearchParams([
      ['q', 'invoices'],
      ['status', 'pending'],
      ['from', String(from)],
    ]).toString()
    await expect.poll(() => area.asked.at(-1)).toBe(filters)
    const file = visitor.page.getByRole('link', { name: 'Download CSV' })
    await expect
      .poll(() => file.getAttribute('href'))
      .toBe(`/api/v1/account/requests/export?format=csv&${filters}`)
    await expect.poll(() => visitor.page.locator('#announcements').innerText()).toBe('1 request found')
    await visitor.page.getByLabel('Search').press('Enter')
    await expect.poll(focused).toBe('1 request found')

    await visitor.page.reload()
    await heading('1 request found').waitFor()
    expect(await visitor.page.getByLabel('Status').inputValue()).toBe('pending')
    expect(await visitor.page.getByLabel('Created on or after').inputValue()).toBe('2026-11-01')
    await visitor.page.getByRole('link', { name: 'Clear all' }).click()
    await heading('1 request').waitFor()
    expect(visitor.page.url()).toBe(`${suite.server().url}/requests`)
  })

  it('writes times, and reads days, in the zone that the reader chose, and outlives one the browser does not know', async () => {
    area.rows = [sampleRow({ created_at: '2026-07-14T23:30:00.000Z' })]
    visitor = await suite.visit({ viewport: { width: 1440, height: 900 }, timezoneId: 'Asia/Kathmandu' })
    const { page } = visitor
    const hover = () => rows().locator('time[datetime^="2026-07"]').getAttribute('title')
    const start = async (): Promise<string | null> => {
      await page.goto('/requests?from=2026-11-01')
      await heading('1 request found').waitFor()
      return new URLSearchParams(area.asked.at(-1)).get('from')
    }
    const choose = async (zone: string): Promise<void> => {
      await page.goto('/account')
      const reloaded = page.waitForEvent('load')
      await page.getByLabel('Time zone', { exact: true }).selectOption(zone)
      await reloaded
    }
    for (const [zone, day, exact] of [
      ['Pacific/Auckland', '2026-10-31T11:00:00.000Z', '15 Jul 2026, 11:30:00 GMT+12'],
      // Clocks are put back on that day.
      ['America/New_York', '2026-11-01T04:00:00.000Z', '14 Jul 2026, 19:30:00 GMT-4'],
      ['UTC', '2026-11-01T00:00:00.000Z', '14 Jul 2026, 23:30:00 UTC'],
    ] as const) {
      await choose(zone)
      expect(await page.getByLabel('Time zone', { exact: true }).inputValue()).toBe(zone)
      expect(await start()).toBe(day)
      expect(await hover()).toBe(exact)
    }
    await page.evaluate(`localStorage.setItem('time-zone', 'Mars/Olympus')`)
    const own = '2026-10-31T18:15:00.000Z'
    expect(await start()).toBe(own)
    await choose('')
    expect(await start()).toBe(own)
    expect(visitor.incidents).toEqual([])
  })

  it('tells keys of one name apart in the filter, by their prefix, and writes out what is hidden in it (T43)', async () => {
    const [first, second] = suite.server().state.keys
    if (first === undefined || second === undefined) return expect.unreachable()
    suite.server().state.keys = [
      first,
      { ...second, name: first.name },
      { ...first, id: 'key_3', name: 'ci\u202e' },
    ]
    await open()
    const labels = await visitor.page.getByLabel('API key').locator('option').allTextContents()
    expect(labels).toEqual([
      'Any',
      'ops-agent-prod (sa_live_4f9Kq2…)',
      'ops-agent-prod (sa_test_81bZx0…)',
      'ci[U+202E]',
    ])
  })

  it('puts what the service says about a filter at its field, with the focus there', async () => {
    area.refuse = { field: 'q', detail: 'must not exceed 200 characters' }
    await open()
    let answer = (): void => {}
    const held = new Promise<void>((resolve) => {
      answer = resolve
    })
    await visitor.page.route('**/account/requests?q=x*', async (route) => {
      await held
      await route.continue()
    })
    // Enter comes while what was typed is looked for already.
    const typed = visitor.page.waitForRequest('**/account/requests?q=x*')
    await visitor.page.getByLabel('Search').fill('x'.repeat(201))
    await typed
    await visitor.page.getByLabel('Search').press('Enter')
    answer()
    await visitor.page.getByText('It must not exceed 200 characters.').waitFor()
    await expect.poll(() => visitor.page.evaluate('document.activeElement.name')).toBe('q')
    expect(await visitor.page.getByLabel('Search').getAttribute('aria-invalid')).toBe('true')
    expect(await visitor.page.locator('.data-table').count()).toBe(0)
    area.refuse = undefined
    await visitor.page.getByLabel('Search').fill('fine')
    await visitor.page.getByLabel('Search').press('Enter')
    await heading('Nothing matches').waitFor()
  })

  it('loses nothing of an address it does not know: the service judges it', async () => {
    area.refuse = { field: 'status', detail: 'must be pending, approved, rejected or expired' }
    await open('/requests?status=lost')
    await visitor.page.getByText('It must be pending, approved').waitFor()
    expect(await visitor.page.getByLabel('Status').inputValue()).toBe('lost')
    const frame = `getComputedStyle(document.querySelector('select[name=status]')).borderTopWidth`
    expect(await visitor.page.evaluate(frame), 'the frame of a refused choice').toBe('2px')
    await visitor.page.setViewportSize({ width: 768, height: 1024 })
    const tops = `[...document.querySelectorAll('.filter-fields :is(.input, .select)')].map((box) => box.getBoundingClientRect().top)`
    expect(new Set(await visitor.page.evaluate<number[]>(tops)).size, 'labels in line on a tablet').toBe(2)
  })

  it('says when nothing was asked yet, and otherwise that nothing matches', async () => {
    await open()
    await heading('No requests yet').waitFor()
    expect(await visitor.page.locator('main').innerText()).toContain('it stays listed here')
    expect(await visitor.page.getByRole('link', { name: 'Download CSV' }).count()).toBe(0)
    await open('/requests?high_impact=true')
    await heading('Nothing matches').waitFor()
    expect(await visitor.page.locator('main').innerText()).toContain('No request matches these filters.')
    await open('/requests?q=refund')
    await heading('Nothing matches').waitFor()
    const none = 'No request matches this search. Use fewer words, or clear it.'
    expect(await visitor.page.locator('main').innerText()).toContain(none)
    await open('/requests?q=refund&status=pending')
    await heading('Nothing matches').waitFor()
    expect(await visitor.page.locator('main').innerText()).toContain('matches this search and these filters.')
  })

  it('shows more on demand, says how many came, and does not lose the focus', async () => {
    area.rows = Array.from({ length: 5 }, (_, at) => sampleRow({ id: `req_${at}`, action: `Action ${at}` }))
    area.pageSize = 2
    await open('/requests?q=action')
    await heading('Newest 2 requests found').waitFor()
    const more = visitor.page.getByRole('button', { name: 'Show more' })
    area.broken = true
    await more.click()
    await visitor.page.locator('.show-more .notice.error').waitFor()
    expect(await rows().count()).toBe(2)
    area.broken = false
    await more.click()
    await heading('Newest 4 requests found').waitFor()
    expect(await visitor.page.locator('#announcements').innerText()).toBe('2 more requests')
    expect(await focused()).toBe('Show more')
    await more.click()
    await heading('5 requests found').waitFor()
    expect(area.asked.at(-1)).toBe('q=action&cursor=4')
    expect(await visitor.page.locator('#announcements').innerText()).toBe('1 more request')
    await expect.poll(focused).toBe('Action 4')
    expect(await more.count()).toBe(0)
  })

  it('withdraws what the question said, though more came to the list meanwhile, and says what came of it', async () => {
    area.rows = Array.from({ length: 3 }, (_, at) => sampleRow({ id: `req_${at}` }))
    area.pageSize = 1
    await open('/requests?status=pending')
    const { page } = visitor
    let answer = (): void => {}
    const held = new Promise<void>((resolve) => {
      answer = resolve
    })
    await page.route('**/account/requests?*cursor=1', async (route) => {
      await held
      await route.continue()
    })
    await page.getByRole('button', { name: 'Show more' }).click()
    await page.getByRole('button', { name: 'Withdraw this request' }).click()
    const sure = page.getByRole('dialog', { name: 'Withdraw this request?' })
    await sure.waitFor()
    answer()
    await expect.poll(() => rows().count()).toBe(2)
    await sure.getByRole('button', { name: 'Withdraw' }).click()
    await page.getByText('It was not withdrawn: it had been decided or had expired before.').waitFor()
    expect(area.withdrawn).toEqual([['req_0']])
  })

  it('goes on looking where a search found nothing among the newest', async () => {
    area.rows = [sampleRow()]
    area.pageSize = 0
    await open('/requests?q=rare')
    await visitor.page.getByText('“Show more” looks further back').waitFor()
    area.pageSize = 20
    await visitor.page.getByRole('button', { name: 'Show more' }).click()
    await heading('1 request found').waitFor()
    expect(await rows().count()).toBe(1)
    expect(await visitor.page.getByText('looks further back').isVisible()).toBe(false)
  })

  it('is one table for screen readers at every width, and begins high on the page', async () => {
    area.rows = Array.from({ length: 20 }, (_, at) => sampleRow({ id: `req_${at}` }))
    const table = visitor.page.getByRole('table', { name: 'Requests' })
    const top = async (part: Locator): Promise<number> => (await part.boundingBox())?.y ?? Number.NaN
    await open()
    expect(await top(table)).toBeLessThanOrEqual(340)
    await visitor.page.setViewportSize({ width: 390, height: 844 })
    expect(await top(table)).toBeLessThanOrEqual(370)
    for (const [one, other] of [
      ['.results-head > h2', 'text=NDJSON'],
      ['[name="q"]', 'button:has-text("Search")'],
    ] as const) {
      const below = (await top(visitor.page.locator(one))) + 40
      expect(await top(visitor.page.locator(other)), other).toBeLessThan(below)
    }
    const decided_at = new Date(Date.now() - 86_400_000).toISOString()
    area.rows = [decidedRow('approved', { decided_at }), sampleRow({ quorum: { needed: 3, approved: 1 } })]
    await open()
    for (const row of await rows().all()) expect((await row.boundingBox())?.height).toBeLessThanOrEqual(88)
    area.rows = area.rows.slice(0, 1)
    await visitor.page.setViewportSize({ width: 360, height: 700 })
    await open()
    expect(await table.getByRole('columnheader').count()).toBe(5)
    expect(await table.getByRole('cell').count()).toBe(5)
  })

  it('tells the states apart by shape too, and gives a long action two lines on the smallest phone', async () => {
    const states = [
      sampleRow({ action: LONG }),
      decidedRow('approved'),
      decidedRow('rejected'),
      sampleRow({ status: 'expired' }),
      sampleRow({ status: 'expired', cancelled: true }),
    ]
    area.rows = states
    await visitor.page.setViewportSize({ width: 320, height: 640 })
    await open()
    // What forced colours leave.
    const shapes: unknown =
      await visitor.page.evaluate(`[...document.querySelectorAll('.state-tag')].map((tag) => {
      const { borderStyle, borderWidth, borderRadius } = getComputedStyle(tag, '::before')
      return [borderStyle, borderWidth, borderRadius].join()
    })`)
    expect(new Set(Object.values(Object(shapes))).size).toBe(states.length)
    const action = await rows().first().locator('.row-link > .inbox-action').boundingBox()
    expect(action?.height).toBeGreaterThan(36)
    expect(action?.width).toBeGreaterThan(200)
  })

  it.each([1280, 1024, 390, 320])('cuts off no age and no tag, nor tears one: %i px', async (width) => {
    const created_at = new Date(Date.now() - 13 * 60_000).toISOString()
    const day = { created_at: '2025-12-30T12:00:00.000Z', sandbox: true, action: LONG } as const
    const action = 'Refund \u202e00.01$\u202c to cust\u200bomer \u0410cme'
    area.rows = [sampleRow({ action, created_at }), decidedRow('rejected', day), sampleRow({ created_at })]
    await visitor.page.setViewportSize({ width, height: 900 })
    await open()
    expect(await rows().first().locator('.tag').count()).toBe(3)
    const cut = await visitor.page.evaluate(`[...document.querySelectorAll('td :is(.tag, time, .state-tag)')]
      .filter((part) => {
        const [{ left, right }, ...torn] = part.getClientRects()
        const cell = part.closest('td:not(.col-action), tr').getBoundingClientRect()
        return (torn.length > 0 && !part.closest('.col-decided')) || left < cell.left || right > cell.right
      })
      .map(({ textContent }) => textContent)`)
    expect(cut).toEqual([])
  })

  it.each([1440, 1280, 1024, 390])(
    'shows an action whole, with what the others do not need, before its last column: %i px',
    async (width) => {
      const action = 'Delete 18 204 invoices older than seven years'
      area.rows = [
        decidedRow('approved', { action, created_at: '2025-12-30T12:00:00.000Z' }),
        sampleRow({ action }),
      ]
      await visitor.page.setViewportSize({ width, height: 900 })
      await open()
      for (const row of await rows().all())
        expect((await row.boundingBox())?.height).toBeLessThanOrEqual(width === 390 ? 88 : 60)
      const cut = `[...document.querySelectorAll('.row-link > .inbox-action')]
        .filter(({ scrollHeight, clientHeight }) => scrollHeight > clientHeight + 1).length`
      if (width !== 1024) expect(await visitor.page.evaluate(cut), 'cut').toBe(0)
      if (width === 390) return
      const cell = await rows().first().locator('.col-action').boundingBox()
      const table = await visitor.page.locator('.data-table').boundingBox()
      expect((cell?.width ?? 0) / (table?.width ?? 1)).toBeGreaterThan(width > 1024 ? 0.4 : 0.28)
      const mark = await rows().first().locator('.tag.severe').boundingBox()
      const text = await rows().first().locator('.inbox-action').boundingBox()
      expect(mark?.x, 'before the text').toBeLessThan(text?.x ?? 0)
    },
  )

  it('asks for the account that is looked at, without keys, as an auditor', async () => {
    area.rows = [sampleRow()]
    suite.server().state.accounts = [
      { id: 'acc_A', name: 'Company', role: 'auditor', own: false },
      { id: 'acc_B', name: 'Own', role: 'owner', own: true },
    ]
    await open(`/requests?key=${KEY_ID}`)
    await heading('1 request found').waitFor()
    expect(area.asked).toEqual([`account=acc_A&key=${KEY_ID}`])
    expect(suite.server().calls).not.toContain('GET /account/api-keys')
    expect(await visitor.page.getByLabel('Id of the API key').inputValue()).toBe(KEY_ID)
    await visitor.page.getByLabel('Account').selectOption('acc_B')
    await heading('1 request').waitFor()
    expect(visitor.page.url()).toBe(`${suite.server().url}/requests?account=acc_B`)
  })
})
