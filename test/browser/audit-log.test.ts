import type { Locator } from 'playwright-core'
import { beforeEach, expect, it } from 'vitest'
import { describeInBrowser, type Visitor } from '../support/browser.ts'
import { historyArea, KEY_ID, sampleEntry } from '../support/page-history-answers.ts'
import { SAMPLE_USER, sampleReview } from '../support/page-samples.ts'
import { usePageSuite } from '../support/page-suite.ts'

const REQUEST = sampleReview().id
const ANN = { kind: 'user', id: 'usr_ann', address: '203.0.113.9' }
const WEBHOOK = 'whk_00000000000000000000000000'

describeInBrowser('the audit log', () => {
  const area = historyArea()
  const suite = usePageSuite(area)
  let visitor: Visitor

  beforeEach(async () => {
    visitor = await suite.visit({ viewport: { width: 1440, height: 900 } })
    area.names = { usr_ann: 'Ann', [KEY_ID]: 'deploy' }
  })
  const entries = (): Locator => visitor.page.locator('.audit-entry')
  const open = async (path = '/audit'): Promise<void> => {
    await visitor.page.goto(path)
    await visitor.page.getByRole('heading', { name: 'Audit log', exact: true }).waitFor()
  }
  const more = (): Promise<void> =>
    entries()
      .first()
      .getByRole('button', { name: /^More of entry/ })
      .click()
  const sentences = (): Promise<string[]> => visitor.page.locator('.audit-sentence').allInnerTexts()

  it('tells in plain words who did what', async () => {
    area.entries = [
      sampleEntry({ type: 'key.revoked', actor: ANN, subject: KEY_ID }),
      sampleEntry(),
      sampleEntry({
        type: 'approval.voted',
        actor: { kind: 'user', id: SAMPLE_USER.id },
        detail: { decision: 'rejected' },
      }),
      sampleEntry({
        type: 'member.changed',
        actor: ANN,
        subject: SAMPLE_USER.id,
        detail: { role: 'auditor' },
      }),
      sampleEntry({
        type: 'member.joined',
        actor: { kind: 'user', id: 'usr_new' },
        subject: 'usr_new',
        detail: { role: 'approver' },
      }),
      sampleEntry({ type: 'approval.expired', actor: { kind: 'service' } }),
      sampleEntry({ type: 'approval.verified', actor: { kind: 'public' } }),
      sampleEntry({ type: 'approval.verified', actor: { kind: 'chat', id: 'slack:T1:U1' } }),
      sampleEntry({
        type: 'user.enrolled',
        actor: { kind: 'user', id: SAMPLE_USER.id },
        detail: { again: true },
      }),
      ...['signed_out', 'revoked', 'enrolled_again'].map((reason) =>
        sampleEntry({
          type: 'session.ended',
          actor: { kind: 'user', id: SAMPLE_USER.id },
          detail: { reason },
        }),
      ),
      sampleEntry({ type: 'chat.linked', actor: { kind: 'chat', id: 'slack:T1:U1' } }),
      sampleEntry({ type: 'key.created', actor: { kind: 'cli' }, subject: 'key_other' }),
    ]
    await open()
    expect(await sentences()).toEqual([
      'Ann revoked the API key deploy.',
      'The API key deploy made a request.',
      'You voted on the request: rejected.',
      'Ann made you auditor.',
      'The person usr_new joined as approver.',
      'The request expired without a decision.',
      'The receipt was checked: unknown.',
      'A chat user (slack:T1:U1) checked the receipt: unknown.',
      'You signed up again, with a new link.',
      'You signed out.',
      'You ended a session.',
      'You used a new sign-in link, which ended a session.',
      'A chat user (slack:T1:U1) linked a chat identity.',
      'The command line created the API key key_other.',
    ])
    expect(await entries().first().innerText()).toContain('203.0.113.9')
  })

  it('makes one line of a decision, with the action and all that the vote holds', async () => {
    const at = '2026-11-20T09:30:30.000Z'
    const about = { at, actor: ANN, subject: REQUEST }
    const voted = (actor: typeof ANN) =>
      sampleEntry({
        ...about,
        actor,
        type: 'approval.voted',
        detail: { decision: 'approved', method: 'passkey' },
      })
    area.entries = [
      sampleEntry({ ...about, type: 'approval.approved' }),
      voted(ANN),
      // Of a quorum: it did not decide.
      voted({ ...ANN, id: 'usr_bob' }),
    ]
    area.actions = { [REQUEST]: 'Pay ACME' }
    await open()
    expect(await sentences()).toEqual([
      'Ann approved the request.',
      'The person usr_bob voted on the request: approved.',
    ])
    expect(await entries().first().locator('.audit-where a').innerText()).toBe('Pay ACME')
    await more()
    expect(await entries().first().locator('.audit-details').innerText()).toMatch(/method: passkey/i)
    expect(
      await entries()
        .first()
        .getByText(/^Entry \d+, raw$/)
        .count(),
    ).toBe(2)
  })

  it('names details in words, leads to requests and keys, and gives each id for copying', async () => {
    await visitor.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    const detail = {
      request_id: REQUEST,
      target: 'callback',
      automatic: true,
      on_behalf_of: 'usr_ann',
      approvers: 'usr_ann usr_gone',
    }
    area.entries = [
      sampleEntry({ type: 'delivery.delivered', actor: { kind: 'service' }, subject: REQUEST, detail }),
      sampleEntry({ subject: 'dlv_1', detail: { request_id: REQUEST, target: WEBHOOK } }),
    ]
    area.actions = { [REQUEST]: 'Delete <b>all</b> invoices' }
    await open()
    expect(await entries().nth(0).locator('.audit-where a').innerText()).toBe('Delete <b>all</b> invoices')
    await visitor.page.getByText('words are the caller’s').waitFor()
    const paths = async (at: number): Promise<(string | null)[]> => {
      const links = await entries().nth(at).locator('.audit-where a').all()
      return Promise.all(links.map((one) => one.getAttribute('href')))
    }
    expect(await paths(0)).toEqual([`/a/${REQUEST}`])
    expect(await paths(1)).toEqual([`/a/${REQUEST}`, `/integrations/webhooks/${WEBHOOK}`])
    for (const width of [390, 800]) {
      await visitor.page.setViewportSize({ width, height: 844 })
      const where = await entries().nth(1).locator('.audit-where').first().boundingBox()
      const time = await entries().nth(1).locator('time').boundingBox()
      expect(where?.height, `one line at ${width} px`).toBeLessThan(30)
      expect(Math.abs((where?.y ?? 0) - (time?.y ?? 0)), 'beside the time').toBeLessThan(8)
      expect(await entries().nth(1).locator('.audit-where:visible').count()).toBe(1)
    }
    await visitor.page.setViewportSize({ width: 1440, height: 900 })
    await more()
    const text = await visitor.page.getByRole('list', { name: 'Details' }).innerText()
    for (const part of [
      `request id: ${REQUEST}`,
      'automatic: yes',
      'on behalf of: Ann',
      'approvers: Ann, usr_gone',
    ])
      expect(text).toContain(part)
    await visitor.page.getByRole('button', { name: `Copy the id ${REQUEST}` }).click()
    await expect.poll(() => visitor.page.locator('#announcements').innerText()).toContain('Copied')
    expect(await visitor.page.evaluate('navigator.clipboard.readText()')).toBe(REQUEST)
    await visitor.page.locator('.audit-about').getByRole('link', { name: REQUEST, exact: true }).click()
    await visitor.page.getByRole('heading', { name: 'Approve or reject this action?' }).waitFor()
    expect(visitor.page.url()).toBe(`${suite.server().url}/a/${REQUEST}`)
  })

  it('leads from an entry to all that the same person or key did, and to all about the same thing', async () => {
    const byKey = sampleEntry({ subject: REQUEST })
    area.entries = [
      sampleEntry({ type: 'key.revoked', actor: ANN, subject: KEY_ID }),
      byKey,
      sampleEntry({ type: 'approval.expired', actor: { kind: 'service' }, subject: REQUEST }),
      sampleEntry({ type: 'chat.linked', actor: { kind: 'chat', id: 'slack:T1:U1' } }),
    ]
    await open()
    const { page } = visitor
    const link = (name: string): Locator => page.getByRole('link', { name, exact: true })
    const openAll = async (): Promise<void> => {
      await page.locator('.audit-entry').first().waitFor()
      for (const one of await page.getByRole('button', { name: /^More of entry/ }).all()) await one.click()
    }
    // Until the next page is there, the entries of the one before it are.
    const shows = async (by: string, about: string): Promise<void> => {
      await expect.poll(() => page.getByLabel('By', { exact: true }).inputValue()).toBe(by)
      await expect.poll(() => page.getByLabel('About', { exact: true }).inputValue()).toBe(about)
    }
    await openAll()
    expect(await page.getByRole('link', { name: /^All by this (person|key) / }).count()).toBe(2)
    await link('All by this person (usr_ann)').click()
    await page.waitForURL('**/audit?actor=usr_ann')
    await shows('usr_ann', '')
    await page.goBack()
    await shows('', '')
    await openAll()
    await link(`All by this key (${byKey.actor.id})`).first().click()
    await page.waitForURL(`**/audit?actor=${byKey.actor.id}`)
    await shows(String(byKey.actor.id), '')
    await page.goBack()
    await shows('', '')
    await openAll()
    await link(`All of its requests (${byKey.actor.id})`).first().click()
    await expect.poll(() => page.getByLabel('API key', { exact: true }).inputValue()).toBe(byKey.actor.id)
    await page.goBack()
    await shows('', '')
    await openAll()
    await link(`All entries about this (${REQUEST})`).first().click()
    await page.waitForURL(`**/audit?subject=${REQUEST}`)
    await shows('', REQUEST)
    const asked = suite.server().calls.filter((call) => call === 'GET /account/audit')
    expect(asked.length).toBeGreaterThanOrEqual(4)
  })

  it('shows the raw entry on demand, with what this page does not know of', async () => {
    area.entries = [Object.assign(sampleEntry(), { unheard_of: { a: ['\u202e'] } })]
    await open()
    expect(await entries().locator('pre').count()).toBe(0)
    await more()
    await visitor.page.getByText('Entry 41, raw').click()
    const raw = await entries().locator('pre').innerText()
    expect(raw).toContain('"hash": "abab')
    expect(raw).toContain('"unheard_of"')
    expect(raw).toContain('[U+202E]')
  })

  it('shows hostile names, details and types as text that cannot pass for the service', async () => {
    area.names = { usr_ann: '<b>Countersign</b>\u202e', [KEY_ID]: 'Countersign' }
    area.entries = [
      sampleEntry({
        type: '<i>x</i>',
        actor: ANN,
        subject: '<script>1</script>',
        detail: { '<u>k</u>': '\u200bv' },
      }),
      sampleEntry(),
    ]
    await open()
    await more()
    const text = await entries().first().innerText()
    for (const part of [
      '<b>Countersign</b>[U+202E]',
      '<i>x</i>',
      '<script>1</script>',
      '<u>k</u>: ',
      '[U+200B]v',
    ])
      expect(text).toContain(part)
    expect(await entries().locator('b, i, u, script').count()).toBe(0)
    expect((await sentences())[1]).toBe('The API key Countersign made a request.')
    expect(visitor.incidents).toEqual([])
  })

  it('keeps filters in the address and gives the same to both downloads', async () => {
    area.entries = [sampleEntry()]
    suite.server().state.accounts = [{ id: 'acc_A', name: 'Company', role: 'auditor', own: false }]
    await open()
    await visitor.page.getByText('Filters', { exact: true }).click()
    await visitor.page.getByLabel('Event').selectOption({ label: 'Requested' })
    await visitor.page.getByLabel('By', { exact: true }).fill(KEY_ID)
    await visitor.page.getByLabel('API key', { exact: true }).fill('deploy')
    await visitor.page.getByLabel('On or before').fill('2026-11-20')
    await visitor.page.waitForURL(`**/audit?type=approval.created&actor=${KEY_ID}&key=deploy&to=2026-11-20`)
    const to = String(await visitor.page.evaluate(`new Date(2026, 10, 21).toISOString()`))
    const filters: [string, string][] = [
      ['type', 'approval.created'],
      ['actor', KEY_ID],
      ['key', 'deploy'],
      ['to', to],
    ]
    await expect.poll(() => area.asked.at(-1)).toBe(`account=acc_A&${new URLSearchParams(filters)}`)
    await visitor.page
      .getByRole('link', { name: 'Download CSV' })
      .and(visitor.page.locator('[href*="to="]'))
      .waitFor()
    for (const [name, format] of [
      ['Download NDJSON', 'ndjson'],
      ['Download CSV', 'csv'],
    ] as const) {
      const [download] = await Promise.all([
        visitor.page.waitForEvent('download'),
        visitor.page.getByRole('link', { name }).click(),
      ])
      expect(download.suggestedFilename()).toBe('audit-2026-11-21.ndjson')
      expect(area.asked.at(-1)).toBe(`account=acc_A&${new URLSearchParams([['format', format], ...filters])}`)
    }
    await visitor.page.getByText('About the files').click()
    expect(await visitor.page.locator('main').innerText()).toContain(
      'countersign audit check --expect <seq>:<hash>',
    )
  })

  it('says how the log stands, and how others check it', async () => {
    const { page } = visitor
    const log = page.locator('details', { hasText: 'The log, and how others check it' })
    const states = [
      [
        503,
        '{"error":"log_rolled_back"}',
        [],
        'It goes on once the operator runs countersign log renew --after',
      ],
      [404, '{"error":"not_found"}', [], 'The log has signed nothing yet.'],
      [503, '{"error":"unavailable"}', [], 'The log failed to load; the service answered with status 503.'],
      [200, 'new/log/2\n14\nAA==\n\n', [], 'One reader cannot know that others are shown the same log'],
      [
        200,
        'new/log/2\n14\nAA==\n\n',
        [{ vkey: 'w+1+A', url: 'https://w' }],
        'The witnesses see that everybody',
      ],
    ] as const
    for (const [status, body, witnesses, said] of states) {
      const ended = { origin: 'old', vkey: 'old+1+A', url: 'https://c/log', checkpoint: '' }
      const former = [ended, { origin: 'mute', url: 'https://c/log/2', checkpoint: '' }]
      const json = { origin: 'new', vkey: 'new+2+B', url: 'https://c/log/3', witnesses, former }
      await page.route('**/.well-known/countersign-log', (route) => route.fulfill({ json }))
      await page.route('**/log/3/checkpoint', (route) => route.fulfill({ status, body }))
      await open()
      await log.locator('summary').click()
      await log.getByText(said).waitFor()
      expect((await log.innerText()).includes('keep its old lines')).toBe(
        said.startsWith('The log') === false,
      )
      if (status === 200)
        expect(await page.getByRole('group', { name: 'the trust policy' }).innerText()).toMatch(
          /^log new\+2\+B\nlog old\+1\+A\n/,
        )
    }
  })

  it('shows more on demand with the names that came with it, and where the end is', async () => {
    area.pageSize = 1
    area.entries = [sampleEntry(), sampleEntry({ seq: 7, type: 'key.created', actor: ANN, subject: KEY_ID })]
    await open()
    await visitor.page.getByRole('heading', { name: 'Newest entry', exact: true }).waitFor()
    area.names = { usr_ann: 'Ann the second' }
    await visitor.page.getByRole('button', { name: 'Show more' }).click()
    await visitor.page.getByRole('heading', { name: '2 entries', exact: true }).waitFor()
    expect((await sentences())[1]).toBe('Ann the second created the API key deploy.')
    expect(await visitor.page.getByRole('button', { name: 'Show more' }).count()).toBe(0)
  })

  it('says a wrong filter at its field, and when there is nothing', async () => {
    area.refuse = { field: 'subject', detail: 'must not exceed 64 characters' }
    await open(`/audit?subject=${'x'.repeat(65)}`)
    await visitor.page.getByText('It must not exceed 64 characters.').waitFor()
    expect(await visitor.page.getByLabel('About').getAttribute('aria-invalid')).toBe('true')
    const tops = `[...document.querySelectorAll('.filter-fields :is(.input, .select)')].map((box) => box.getBoundingClientRect().top)`
    expect(new Set(await visitor.page.evaluate<number[]>(tops)).size, 'fields in line').toBe(1)
    await visitor.page.setViewportSize({ width: 390, height: 844 })
    expect(new Set(await visitor.page.evaluate<number[]>(tops)).size, 'two in a line of a phone').toBe(3)
    expect(await visitor.page.getByRole('link', { name: /^Download/ }).count()).toBe(0)
    await open('/audit')
    await visitor.page.getByRole('heading', { name: 'No entries yet' }).waitFor()
  })
})
