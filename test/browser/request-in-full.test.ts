import { readFile } from 'node:fs/promises'
import type { Locator } from 'playwright-core'
import { beforeEach, expect, it } from 'vitest'
import type { Card } from '../../dashboard/requests/request-shapes.ts'
import { describeInBrowser, type Visitor } from '../support/browser.ts'
import {
  historyArea,
  KEY_ID,
  sampleDecided,
  sampleDelivery,
  sampleEntry,
} from '../support/page-history-answers.ts'
import { peopleArea } from '../support/page-people-answers.ts'
import { SAMPLE_USER, sampleReview } from '../support/page-samples.ts'
import { usePageSuite } from '../support/page-suite.ts'

const { id: ID, requester } = sampleReview()
const ACCOUNT = requester.account
const CARD: Card = {
  id: 'crd_1',
  platform: 'teams',
  recipient: 'channel',
  approver: undefined,
  state: 'shown',
  next_attempt_at: null,
  attempts: [],
  created_at: '2026-11-20T09:30:00.000Z',
}

describeInBrowser('one request in full', () => {
  const area = historyArea()
  const suite = usePageSuite(area, peopleArea())
  let visitor: Visitor

  beforeEach(async () => {
    suite.server().state.accounts = [{ id: ACCOUNT, name: 'Company', role: 'owner', own: true }]
    visitor = await suite.visit({ viewport: { width: 1440, height: 900 } })
  })
  const unfold = (): Promise<void> => visitor.page.getByText('Timeline and earlier requests').click()
  const main = (): Locator => visitor.page.locator('main')
  const open = async (heading: string): Promise<void> => {
    await visitor.page.goto(`/a/${ID}`)
    await visitor.page.getByRole('heading', { name: heading, exact: true }).waitFor()
  }
  const show = (changes: Parameters<typeof sampleReview>[0]): void => {
    suite.server().state.review = sampleReview(changes)
  }

  it('asks for what happened only once it is unfolded, for somebody who comes to decide', async () => {
    await open('Approve or reject this action?')
    const past = () => suite.server().calls.filter((call) => /deliveries|audit/.test(call))
    await visitor.page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Keys' }).waitFor()
    expect(past()).toEqual([])
    await unfold()
    await visitor.page.getByRole('button', { name: 'Withdraw the request' }).waitFor()
    expect(past()).toHaveLength(2)
  })

  it('offers no decision to an auditor, and asks for no deliveries', async () => {
    suite.server().state.accounts = [{ id: ACCOUNT, name: 'Company', role: 'auditor', own: false }]
    show({ may_decide: false, why_not: 'not_found', approver: null, methods: [] })
    await open('Waiting for a decision')
    await expect.poll(() => suite.server().calls).toContain('GET /account/audit')
    const text = await main().innerText()
    expect(text).toContain('You can follow this request here, but you cannot decide it.')
    expect(text).toContain('you are not one of its approvers')
    expect(text).not.toContain('Notifications')
    expect(await visitor.page.getByRole('button', { name: /^(Approve|Reject|Withdraw)/ }).count()).toBe(0)
    const ways = visitor.page.getByRole('navigation', { name: 'Main' }).getByRole('link')
    expect(await ways.allInnerTexts()).toEqual(['Overview', 'Inbox', 'Requests', 'Audit', 'Account'])
    expect(suite.server().calls.filter((call) => call.includes('deliveries'))).toEqual([])
  })

  it('says on whose behalf a delegate would decide, who else is told, and whom no chat reached', async () => {
    const delegate = '0011223344556677'
    show({
      approver: null,
      on_behalf_of: { name: 'Ben <b>Boss</b>', approver: 'aa11bb22cc33dd44', delegate },
      outcome_goes_to: { kind: 'channel', name: 'deploys\u202e', platform: 'slack' },
      not_reachable: ['aa11bb22cc33dd44'],
      names: { aa11bb22cc33dd44: 'Bo Lind' },
    })
    await open('Approve or reject this action?')
    const text = await main().innerText()
    expect(text).toContain('Ben <b>Boss</b>')
    expect(text).toContain('The outcome also goes to the channel deploys[U+202E] in Slack.')
    expect(text).toContain('Not reachable in chat: approver Bo Lind.')
    expect(await main().locator('b').count()).toBe(0)
  })

  it('shows votes with their comments, each once, and prints where to check it', async () => {
    const review = sampleDecided()
    const comment = 'Backup is there.'
    const signed = review.decision && { ...review.decision, comment }
    const verify_qr = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>'
    suite.server().state.review = { ...review, decision: signed, verify_qr }
    await open('Approved')
    await visitor.page.getByRole('heading', { name: 'Notifications' }).waitFor()
    const shown = async (media: 'print' | null) => {
      await visitor.page.emulateMedia({ media })
      const boxes = ['.on-paper img', '.on-paper .mono', '.past', '.site-nav'].map((one) =>
        visitor.page.locator(one),
      )
      return Promise.all(boxes.map((one) => one.isVisible()))
    }
    expect(await shown('print')).toEqual([true, true, false, false])
    expect(await visitor.page.locator('.on-paper').innerText()).toContain(`/verify#${ID}`)
    expect(await shown(null)).toEqual([false, false, true, true])
    const panel = await visitor.page.locator('.panel').innerText()
    for (const text of [
      '2 of 2 needed approvals',
      'Last approval by',
      'Backup is there.',
      'by the delegate 0011223344556677',
    ])
      expect(panel).toContain(text)
    expect(panel.split(comment).length, 'also where it closed the request').toBe(2)
    expect(await visitor.page.getByRole('link', { name: 'Check this receipt' }).getAttribute('href')).toBe(
      `/verify#${ID}`,
    )
  })

  it('says where the log has it, by itself, and gives the file as the service has it at that moment', async () => {
    const { state } = suite.server()
    const { page } = visitor
    state.review = sampleDecided()
    await page.clock.install()
    await open('Approved')
    const said = page.locator('.log-state').first()
    await said.getByText('Not in the log yet').waitFor()
    const place = { origin: 'o', index: 41, size: 44 }
    const witnesses = [{ name: 'w.example/<b>', at: '2026-11-20T09:30:09.000Z' }]
    state.proof = { ...state.proof, log: 'logged', ...place, awaited: ['w.example/<b>'] }
    await page.clock.runFor(2100)
    await said.getByText('entry 42 of 44').waitFor()
    expect(await page.locator('#announcements').innerText()).toBe('Log: In the log')
    expect(await said.innerText()).toContain('No witness has signed it yet.')
    state.proof = { log: 'witnessed', ...place, witnesses, awaited: [], bundle: '{"a":1}' }
    await page.clock.runFor(2100)
    await said.getByText('w.example/<b> on').waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download the receipt' }).click(),
    ])
    expect(download.suggestedFilename()).toBe('countersign.receipt.json')
    expect(await readFile(await download.path(), 'utf8')).toBe('{"a":1}')
    await page.emulateMedia({ media: 'print' })
    const onPaper = ['.log-state .facts', '.log-state p.hint', '.log-state .button', '.not-on-paper']
    const seen = onPaper.map((one) => page.locator(one).first().isVisible())
    expect(await Promise.all(seen)).toEqual([true, false, false, false])
    await page.emulateMedia({ media: null })
    for (const [log, words] of [
      ['stopped', 'The log is stopped'],
      ['before_log', 'Older than the log'],
    ] as const) {
      state.proof = { log, witnesses: [], awaited: ['w'] }
      await page.reload()
      await said.getByText(words).waitFor()
      // Its texts were erased.
      await said.getByText('so there is no file').waitFor()
      expect(await page.getByRole('button', { name: 'Download the receipt' }).count()).toBe(0)
    }
  })

  it('tells what is on record of it in order, and what the same key asked before and how this differs', async () => {
    const posted: Card = {
      ...CARD,
      attempts: [{ at: '2026-11-20T09:30:02.000Z', what: 'post', outcome: 'accepted', duration_ms: 9 }],
    }
    area.log = { data: [sampleDelivery()], next_cursor: null, cards: [posted], notifications: [], quiet: [] }
    area.entries = [
      sampleEntry({
        type: 'approval.verified',
        at: '2026-11-20T09:40:00.000Z',
        actor: { kind: 'public', address: '203.0.113.9' },
        detail: { result: 'valid' },
      }),
      sampleEntry({
        type: 'approval.approved',
        at: '2026-11-20T09:30:30.000Z',
        actor: { kind: 'user', id: 'usr_ann' },
      }),
      sampleEntry({
        type: 'approval.voted',
        at: '2026-11-20T09:30:30.000Z',
        actor: { kind: 'user', id: 'usr_ann' },
        detail: { decision: 'approved' },
      }),
      sampleEntry(),
    ]
    const approver = '9f2c4e6a8b0d1f35'
    const toReader: Card = { ...posted, id: 'crd_2', recipient: 'approver', approver: SAMPLE_USER.approver }
    area.log.cards = [posted, toReader]
    area.names = { usr_ann: 'Ann', [KEY_ID]: 'deploy', [approver]: 'Ann' }
    area.similar = [
      {
        id: 'req_1',
        status: 'approved',
        cancelled: undefined,
        action: 'Delete 3 <b>invoices</b>',
        created_at: '2026-11-19T09:30:00.000Z',
        decision: { method: 'passkey', approver, decided_at: '2026-11-19T09:31:00.000Z' },
        differs: [
          { field: 'tool_arguments.database', before: 'test', now: 'billing\u202e' },
          { field: 'x', before: undefined, now: '1' },
        ],
        more: 2,
      },
    ]
    const seen = [
      { approver, at: '2026-11-20T09:30:20.000Z' },
      { approver: SAMPLE_USER.approver, at: '2026-11-20T09:30:21.000Z' },
    ]
    show({ seen, names: { [approver]: 'Ann' } })
    await open('Approve or reject this action?')
    await unfold()
    const steps = visitor.page.getByRole('list', { name: 'Timeline' }).locator('li p')
    await steps.first().waitFor()
    expect(await steps.allInnerTexts()).toEqual([
      'The API key deploy made a request',
      'Posted in Teams to a channel',
      'Posted in Teams to you',
      'Ann opened the request',
      'You opened the request',
      'Ann approved the request',
      'The callback was delivered',
      'The receipt was checked: valid',
    ])
    const before = await visitor.page.getByRole('region', { name: 'Asked before' }).innerText()
    for (const part of [
      'Approved',
      'Ann',
      'Delete 3 <b>invoices</b>',
      'tool_arguments.database',
      'test billing[U+202E]',
      'not there 1',
      '2 more fields differ.',
    ])
      expect(before).toContain(part)
    expect(await visitor.page.title()).toContain('Delete 18 204 invoices')
  })

  it('folds checks of the receipt into one line, reads on to what was first, and says where it did not', async () => {
    const check = (minute: number, result = 'valid') =>
      sampleEntry({
        type: 'approval.verified',
        at: new Date(Date.UTC(2026, 10, 20, 10, minute)).toISOString(),
        actor: { kind: 'public', address: `203.0.113.${minute % 200}` },
        detail: { result },
      })
    const checks = (count: number) => Array.from({ length: count }, (_, at) => check(count - at))
    area.names = { [KEY_ID]: 'deploy' }
    area.pageSize = 100
    area.entries = [...checks(130), check(0, 'pending'), sampleEntry()]
    const webhook = sampleDelivery({
      target: 'webhook',
      webhook_id: 'whk_1',
      event_type: 'approval.approved',
    })
    area.log.data = [...Array.from({ length: 100 }, () => sampleDelivery({ state: 'due' })), webhook]
    await open('Approve or reject this action?')
    await unfold()
    const section = visitor.page.getByRole('region', { name: 'Timeline' })
    const steps = async () => (await section.locator('li p').allInnerTexts()).join('\n')
    await section.waitFor()
    expect(await steps()).toMatch(
      /^The API key deploy made a request\nThe webhook of approval.approved was delivered\nThe receipt was checked: pending\nThe receipt was checked: valid, 130 times, the last \S.*$/,
    )
    expect(await section.innerText()).not.toContain('not shown')
    area.entries = [...checks(1000), sampleEntry()]
    await visitor.page.reload()
    await unfold()
    const log = section.getByRole('link', { name: 'The audit log' })
    expect(await log.getAttribute('href')).toBe(`/audit?subject=${ID}`)
    expect(await steps()).toContain('1000 times')
  })

  it('lists to the owner what was sent and what came of it, in words', async () => {
    const webhook = sampleDelivery({
      id: 'dlv_2',
      target: 'webhook',
      webhook_id: 'whk_1',
      event_type: 'approval.approved',
      url: 'https://example.com/<b>x</b>',
      state: 'dead',
      attempts: [
        { at: '2026-11-20T09:31:01.000Z', outcome: 'http_503', duration_ms: 12 },
        { at: '2026-11-20T09:31:02.000Z', outcome: 'timeout', duration_ms: 10_000 },
      ],
    })
    const quiet = [{ approver: '9f2c4e6a8b0d1f35', until: '2026-11-20T09:45:00.000Z' }]
    const dropped = sampleDelivery({ id: 'dlv_3', state: 'dropped' })
    area.log = {
      data: [sampleDelivery(), webhook, dropped],
      next_cursor: null,
      cards: [CARD],
      notifications: [],
      quiet,
    }
    await open('Approve or reject this action?')
    await unfold()
    const list = visitor.page.getByRole('list', { name: 'Deliveries' })
    await list.getByText('2 attempts').click()
    const text = await list.innerText()
    for (const part of ['Callback', 'Delivered', 'Given up', 'https://example.com/<b>x</b>'])
      expect(text).toContain(part)
    expect(await list.locator('.tag.warn').allInnerTexts()).toEqual(['Given up', 'Dropped'])
    expect(text).toContain('answered with status 503 (12 ms)')
    expect(text).toContain('no answer in time (10000 ms)')
    expect(await list.getByRole('link', { name: 'Webhook' }).getAttribute('href')).toBe(
      '/integrations/webhooks/whk_1',
    )
    expect(await visitor.page.getByRole('list', { name: 'Messages in chat' }).innerText()).toMatch(
      /Teams[\s\S]*Up to date[\s\S]*A channel/,
    )
    expect(await main().innerText()).toContain(
      'Approver 9f2c4e6a8b0d1f35 was sent no message and no notification: they had just rejected three requests',
    )
  })

  it('writes people whose name the service tells by name, with the reference that is signed one press away', async () => {
    const names = { aa11bb22cc33dd44: 'Bo Lind', '0011223344556677': 'Cy <b>C</b>' }
    suite.server().state.review = { ...sampleDecided(), names }
    const card: Card = { ...CARD, recipient: 'approver', approver: 'aa11bb22cc33dd44' }
    const quiet = [{ approver: '9f2c4e6a8b0d1f35', until: '2026-11-20T09:45:00.000Z' }]
    area.log = { data: [], next_cursor: null, cards: [card], notifications: [], quiet }
    await open('Approved')
    const panel = await visitor.page.locator('.panel').innerText()
    expect(panel).toContain('Approver Bo Lind')
    expect(panel).toContain('by the delegate Cy <b>C</b>')
    expect(panel).toMatch(/Last approval by\s+Bo Lind\s+Decided by the delegate\s+Cy/)
    const told = visitor.page.getByRole('list', { name: 'Messages in chat' })
    await told.getByRole('button', { name: 'Bo Lind' }).click()
    expect(await told.innerText()).toContain('Approver Bo Lind aa11bb22cc33dd44')
    expect(await main().innerText()).toContain('Approver 9f2c4e6a8b0d1f35 was sent no message')
    expect(await main().locator('b').count()).toBe(0)
  })

  it('names nobody where the sandbox decided', async () => {
    const { decision, ...decided } = sampleDecided()
    if (decision === undefined) throw new Error('not decided')
    const names = { [decision.approver]: 'Bo Lind' }
    const dryRun = { ...decision, method: 'sandbox' as const, delegate: undefined }
    suite.server().state.review = { ...decided, votes: [], sandbox: true, names, decision: dryRun }
    await open('Approved')
    const panel = await visitor.page.locator('.panel').innerText()
    expect(panel).toMatch(/Decided by\s+The sandbox, no person/)
    expect(panel).not.toContain('Bo Lind')
  })

  it('leaves references where the service tells no names, and asks for no members', async () => {
    suite.server().state.accounts = [{ id: ACCOUNT, name: 'Company', role: 'auditor', own: false }]
    suite.server().state.review = sampleDecided()
    await open('Approved')
    const panel = await visitor.page.locator('.panel').innerText()
    expect(panel).toContain('Approver aa11bb22cc33dd44')
    expect(panel).toContain('by the delegate 0011223344556677')
    expect(suite.server().calls).not.toContain('GET /account/members')
  })
})
