import type { Browser, Page } from 'playwright-core'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { renderCard as slackCard } from '../../../adapters/slack/cards.ts'
import { renderAnswer, renderVerdict } from '../../../adapters/teams/answers.ts'
import { renderBatch, renderCard, renderDetails, renderReply } from '../../../adapters/teams/cards.ts'
import { visibleString } from '../../../src/domain/text.ts'
import { viewVerdict } from '../../../src/flow/chat/verdict.ts'
import { viewCard } from '../../../src/flow/tell/view-card.ts'
import { axeViolations, describeInBrowser, overflow, sharedBrowser } from '../../support/browser.ts'
import {
  BATCH_VIEWS,
  decidedRequest,
  SIX_VIEWS,
  sampleRequest,
  sampleVote,
  TO_ANA,
  TO_CHANNEL,
  USUAL_CONTEXT,
} from '../../support/card-samples.ts'
import { drawBlocks, pageOf } from '../../support/draw-blocks.ts'
import { cardPage, type Theme } from '../../support/draw-card.ts'
import { HOSTILE, hostileView } from '../../support/hostile-view.ts'
import { BASE, payload, stored } from '../../support/verdict-samples.ts'

const now = new Date('2026-09-14T13:20:00Z')
const warned = { action: 'Pay p\u0430ypal \u202e', sandbox: true, high_impact: false }

/** Every kind of card there is. */
const EVERY_CARD = [
  ...SIX_VIEWS.map(({ name, view }) => ({ name, card: renderCard(view).card })),
  ...BATCH_VIEWS.map(({ name, view }) => ({ name, card: renderBatch(view).card })),
  { name: 'details', card: renderDetails(viewCard(sampleRequest(), TO_ANA)).card },
  { name: 'warned sandbox', card: renderCard(viewCard(sampleRequest(warned, {}), TO_ANA)).card },
  { name: 'channel', card: renderCard(viewCard(sampleRequest(), TO_CHANNEL)).card },
  { name: 'decided channel', card: renderCard(viewCard(decidedRequest(), TO_CHANNEL)).card },
  { name: 'verdict', card: renderVerdict(viewVerdict(payload.rid, stored(), BASE)).card },
  {
    name: 'reminder',
    card: renderReply({
      kind: 'reminder',
      request_id: 'req_x',
      audience: 'approver',
      requested_by: { key_name: 'ops-agent-prod', account_name: 'Example Ltd' },
      action: 'Pay',
      expires_at: now,
      automatic: true,
      details: `${BASE}/a/req_x`,
    }).card,
  },
  {
    name: 'link',
    card: renderAnswer({ kind: 'link', purpose: 'link', url: `${BASE}/link#x`, expires_at: now }, { now })
      .card,
  },
]

describeInBrowser('cards drawn by Microsoft’s renderer in a browser', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await sharedBrowser()
  })

  async function show(
    cards: object[],
    theme: Theme,
    width: number,
  ): Promise<{ page: Page; incidents: string[] }> {
    const page = await browser.newPage({
      viewport: { width, height: 800 },
      locale: 'en-GB',
      timezoneId: 'Asia/Tokyo',
    })
    onTestFinished(() => page.close())
    const incidents: string[] = []
    page.on('dialog', (dialog) => {
      incidents.push(dialog.message())
      void dialog.dismiss()
    })
    page.on('pageerror', ({ message }) => incidents.push(message))
    page.on('request', (request) => incidents.push(request.url()))
    await page.setContent(cardPage(cards, theme))
    return { page, incidents }
  }

  it.each([
    ['light', 360],
    ['light', 800],
    ['dark', 360],
    ['dark', 800],
  ] as const)('are complete, legible and within the window: %s, %d pixels wide', async (theme, width) => {
    const { page, incidents } = await show(
      EVERY_CARD.map(({ card }) => card),
      theme,
      width,
    )
    expect(await page.evaluate('drawn.complaints')).toEqual([])
    expect(await page.locator('.card').count()).toBe(EVERY_CARD.length)
    expect(await overflow(page)).toBe(0)
    // Headings of many cards on one page repeat each other, and a card alone has no landmarks.
    const rules = (await axeViolations(page)).filter(
      (line) => !/^(region|page-has-heading-one|landmark-one-main|heading-order)/.test(line),
    )
    expect(rules).toEqual([])
    expect(incidents).toEqual([])
    await page.close()
  })

  const TWO = { ...sampleRequest().requirement, quorum: 2 }
  it.each([
    ['a usual request', sampleRequest({}, USUAL_CONTEXT)],
    ['the request of the pictures', sampleRequest()],
    ['what cannot be undone', sampleRequest({ reversibility: 'irreversible' }, USUAL_CONTEXT)],
    ['one of two votes', sampleRequest({ requirement: TWO, votes: [sampleVote()] }, USUAL_CONTEXT)],
  ])(
    'of %s have their buttons at the top of a phone’s screen, in Teams and in Slack',
    async (_name, request) => {
      const view = viewCard(request, TO_ANA)
      const page = await browser.newPage({ viewport: { width: 390, height: 844 } })
      onTestFinished(() => page.close())
      const slack = pageOf(drawBlocks(slackCard(view).blocks, 'light'), 'light')
      const teams = cardPage([renderCard(view).card], 'light')
      for (const { html, most } of [
        { html: slack, most: 360 },
        { html: teams, most: 844 / 2 },
      ]) {
        await page.setContent(html)
        expect(await overflow(page)).toBe(0)
        const top =
          (await page.locator('body > :not(script)').first().boundingBox())?.y ?? expect.unreachable()
        for (const name of ['Approve…', 'Reject…']) {
          const button = (await page.getByText(name).boundingBox()) ?? expect.unreachable()
          expect(button.y + button.height - top).toBeLessThanOrEqual(most)
        }
      }
    },
  )

  it('hold a word longer than the line as it was written, and leave it to the client to break it', async () => {
    const word = 'x'.repeat(250)
    const context = { reason: word, tool_arguments: { [word]: word }, [word]: word }
    const view = viewCard(sampleRequest({ action: word }, context), TO_ANA)
    const slack = slackCard(view).blocks
    const teams = renderDetails(view).card
    // A break of ours would be copied along with a path or a hash, and be a character that the reader does not see.
    for (const sent of [slack, teams]) expect(JSON.stringify(sent)).toContain(word)
    // These two renderers do not break words, as the clients do; nothing else keeps them from it.
    const breaking = '<style>* { overflow-wrap: anywhere !important }</style>'
    for (const html of [pageOf(drawBlocks(slack, 'light'), 'light'), cardPage([teams], 'light')]) {
      const page = await browser.newPage({ viewport: { width: 390, height: 844 } })
      onTestFinished(() => page.close())
      await page.setContent(`${html}${breaking}`)
      expect(await overflow(page)).toBe(0)
    }
  })

  it('give our moments in the reader’s own zone', async () => {
    const { page } = await show([EVERY_CARD[0]?.card ?? {}], 'light', 360)
    const shown = await page.locator('.card').innerText()
    expect(shown).toContain('Expires at: 23:15 · Mon, 14 Sept 2026')
    expect(shown).not.toContain('{{')
    await page.close()
  })

  it('have buttons that open the approval page or ask the bot, by mouse and by keyboard', async () => {
    const { page } = await show([EVERY_CARD[0]?.card ?? {}], 'light', 360)
    for (const name of ['Approve…', 'Reject…']) await page.getByRole('link', { name }).click()
    const details = page.getByText('Invoices older than ten years may be deleted by law.')
    expect(await details.isVisible()).toBe(false)
    await page.getByRole('button', { name: 'Details' }).press('Enter')
    expect(await details.isVisible()).toBe(true)
    await page.getByRole('button', { name: 'Refresh' }).press('Enter')
    const request_id = 'req_7k2m9q4r8s1t6w5x0yzabcdefg'
    expect(await page.evaluate('drawn.pressed')).toEqual([
      { title: 'Approve…', url: `${BASE}/a/${request_id}?d=approve` },
      { title: 'Reject…', url: `${BASE}/a/${request_id}?d=reject` },
      { title: 'Details' },
      { title: 'Refresh', verb: 'countersign.refresh', data: { request_id } },
    ])
    await page.close()
  })

  it('T42: make no link, picture, date or script of what anybody else wrote', async () => {
    const cards = HOSTILE.map(({ text }) => renderDetails(hostileView(text)).card)
    const { page, incidents } = await show(cards, 'light', 800)
    expect(await page.evaluate('drawn.complaints')).toEqual([])
    expect([...new Set(await page.evaluate<string[]>('drawn.markdown'))]).toEqual([
      'Approve or reject this action?',
      '**Expires at:** 23:15 · Mon, 14 Sept 2026',
      '**Requested:** 22:15 · Mon, 14 Sept 2026',
    ])
    expect(await page.locator('.card a, .card img, .card script, .card iframe, .card at').count()).toBe(0)
    const shown = await page.locator('.card').allInnerTexts()
    HOSTILE.forEach(({ text }, index) => {
      const visible = visibleString(text).replace(/([{$])(?=\{)/g, '$1 ')
      const plain = (shown[index] ?? '').replaceAll('\u00a0', ' ')
      expect(plain).toContain(visible)
      // Ours: the end, and when it was asked.
      expect(plain.match(/14 Sept 2026/g)?.length).toBe(2)
    })
    expect(incidents).toEqual([])
    await page.close()
  })
})
