import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  plainBatch,
  renderBatch as slackBatch,
  renderReply as slackReply,
} from '../../adapters/slack/cards.ts'
import {
  renderSmallBatch,
  renderBatch as teamsBatch,
  renderReply as teamsReply,
} from '../../adapters/teams/cards.ts'
import type { BatchView } from '../../src/domain/card-view.ts'
import { visibleString } from '../../src/domain/text.ts'
import { anyText } from '../support/any-request.ts'
import { buttonsOf, placedTexts, shownText } from '../support/block-parts.ts'
import { buttonsOn, cardText } from '../support/card-lines.ts'
import {
  decidedRequest,
  sampleBatch,
  sampleVote,
  TO_ANA,
  TO_BEN,
  TO_CHANNEL,
} from '../support/card-samples.ts'
import { checkMessage } from '../support/check-blocks.ts'
import { checkCard } from '../support/check-card.ts'
import { HOSTILE } from '../support/hostile-view.ts'

const LINK = 'https://approve.example.com/?batch=bat_7k2m9q4r8s1t6w5x0yzabcdefg'
const both = (view: BatchView) => [shownText(slackBatch(view).blocks), cardText(teamsBatch(view).card)]
const decided = (action: string, changes = {}) => ({ ...decidedRequest(sampleVote(changes)), action })
const MIXED = [
  decided('Pay 1'),
  decided('Pay 2', { decision: 'rejected' }),
  { action: 'Pay 3', status: 'expired' as const, cancelled: true as const },
  { action: 'Pay 4', status: 'expired' as const },
]

describe('the card of several requests', () => {
  it('lists each under what has become of it, those first that wait for the reader', () => {
    for (const text of both(sampleBatch([...MIXED, 'Pay 5', 'Pay 6']))) {
      const said = [
        'Approve or reject 2 of these 6 requests?',
        '⏳ Pending (2)',
        '5. Pay 5',
        '6. Pay 6',
        '✅ Approved (1) by Ben Okafor',
        '1. Pay 1',
        '❌ Rejected (1) by Ben Okafor',
        '2. Pay 2',
        '⌛ Expired without a decision (1)',
        '4. Pay 4',
        '↩️ Withdrawn (1)',
        '3. Pay 3',
      ]
      const places = said.map((one) => text.indexOf(one))
      expect(places).toEqual([...places].sort((a, b) => a - b))
      expect(places).not.toContain(-1)
      expect(text).toContain('Requested by: ops-agent-prod of Example Ltd')
    }
  })

  it.each([
    ['all approved', ['Pay 1', 'Pay 2'].map((one) => decided(one)), '✅ Approved: 2 requests'],
    ['all different', MIXED, '☑️ 4 requests: 1 approved, 1 rejected, 1 expired, 1 withdrawn'],
  ])('says the outcome when %s, and has no button then', (_what, requests, heading) => {
    const view = sampleBatch(requests)
    for (const text of both(view)) expect(text).toContain(heading)
    expect(buttonsOf(slackBatch(view).blocks)).toEqual([])
    expect(buttonsOn(teamsBatch(view).card)).toMatchObject([{ url: LINK }])
  })

  it('leads an approver who can decide to the decision of all, and a channel to the inbox alone', () => {
    const links = (view: BatchView) => [
      buttonsOf(slackBatch(view).blocks).map(({ url }) => url),
      buttonsOn(teamsBatch(view).card).flatMap((button) => ('url' in button ? [button.url] : [])),
    ]
    const ways = [`${LINK}&d=approve`, `${LINK}&d=reject`, LINK]
    expect(links(sampleBatch(['Pay 1', 'Pay 2']))).toEqual([ways, ways])
    expect(links(sampleBatch(['Pay 1', 'Pay 2'], TO_CHANNEL))).toEqual([[LINK], [LINK]])
    const refresh = { request_id: 'bat_7k2m9q4r8s1t6w5x0yzabcdefg' }
    expect(JSON.stringify(teamsBatch(sampleBatch(['Pay 1', 'Pay 2'])).card.actions)).toContain(
      JSON.stringify(refresh),
    )
  })

  it('says who voted only to whom a card of the request would, and asks no one twice', () => {
    const requirement = { ...decided('').requirement, quorum: 2 }
    const voted = ['Pay 1', 'Pay 2'].map((action) => ({ action, requirement, votes: [sampleVote()] }))
    for (const text of both(sampleBatch(voted, TO_BEN))) {
      expect(text).toContain('⏳ 2 requests: waiting for others')
      expect(text).toContain('⏳ You approved (2) · waiting for others · 1 of 2 approvals')
      expect(text).not.toContain('Approve…')
    }
    for (const text of both(sampleBatch([decided('Pay 1'), 'Pay 2'], TO_CHANNEL))) {
      expect(text).toContain('Approved (1) by 20c4be11f7a59d3e')
      expect(text).not.toContain('Ben Okafor')
    }
  })

  it('has replies: a reminder of those that wait, and the end', () => {
    const reply = (batch: BatchView) => ({
      kind: 'batch' as const,
      request_id: batch.request_id,
      batch,
      automatic: false,
    })
    const [open, over] = [reply(sampleBatch([...MIXED, 'Pay 5', 'Pay 6'])), reply(sampleBatch(MIXED))]
    for (const text of [shownText(slackReply(open).blocks), cardText(teamsReply(open).card)]) {
      expect(text).toContain('Reminder: 2 requests wait for your decision')
      expect(text).toContain('Pay 5')
      expect(text).not.toContain('Pay 1')
    }
    for (const text of [shownText(slackReply(over).blocks), cardText(teamsReply(over).card)])
      expect(text).toContain('4 requests: 1 approved, 1 rejected, 1 expired, 1 withdrawn')
    expect(
      [open, over].flatMap((one) => [...checkMessage(slackReply(one)), ...checkCard(teamsReply(one))]),
    ).toEqual([])
  })

  it('counts what it leaves out, and fits fifty of the longest actions', () => {
    const long = Array.from({ length: 50 }, (_, n) => `Pay ${n} ${'"\\'.repeat(980)}`)
    for (const [what, fit] of [
      [long, /… [\d ]+ more characters in the inbox/],
      [long.map((_, n) => `Pay invoice ${n} of ACME Corp`), /50\. Pay invoice 49 of ACME Corp/],
    ] as const) {
      const view = sampleBatch(what)
      expect([
        ...checkMessage(slackBatch(view)),
        ...checkCard(teamsBatch(view)),
        ...checkCard(renderSmallBatch(view)),
      ]).toEqual([])
      for (const text of both(view)) expect(text).toMatch(fit)
      expect(cardText(renderSmallBatch(view).card)).toMatch(/10\. Pay .*… 40 more requests/s)
    }
  })

  it('T41, T43: stays within the limits of both platforms whatever the actions, of which none is two lines', () => {
    const request = fc.record({ action: anyText(1000), state: fc.nat(2) })
    fc.assert(
      fc.property(fc.array(request, { minLength: 2, maxLength: 50 }), (requests) => {
        const view = sampleBatch(
          requests.map(
            ({ action, state }) =>
              [{ action }, decided(action), { action, status: 'expired' as const }][state] ?? '',
          ),
        )
        const [slack, teams] = [slackBatch(view), teamsBatch(view)]
        expect([...checkMessage(slack), ...checkCard(teams)]).toEqual([])
        expect(plainBatch(view)).toContain(LINK)
        const quoted = placedTexts(slack.blocks).filter(({ within }) => within.includes('rich_text_quote'))
        expect(quoted.filter(({ text }) => text.trim() !== '' && text.includes('\n'))).toEqual([])
      }),
      { numRuns: 60 },
    )
  })

  it.each(HOSTILE)('T44: $text is in the frame and nowhere else', ({ text }) => {
    const view = sampleBatch([text, 'Pay 2'])
    const shown = visibleString(text).replace(/\s+/g, ' ').trim().slice(0, 40)
    const places = placedTexts(slackBatch(view).blocks).filter((placed) => placed.text.includes(shown))
    expect(places.map(({ within }) => within.slice(0, 2))).toEqual([['rich_text', 'rich_text_quote']])
    expect([...checkMessage(slackBatch(view)), ...checkCard(teamsBatch(view))]).toEqual([])
    expect(slackBatch(view).text).not.toMatch(/&(?!amp;|lt;|gt;)|:[a-z_+-]+:|:\/\/|[*_~]\S/)
  })

  it('warns of letters that pass for others, and invites whoever was found by e-mail', () => {
    const view = { ...sampleBatch(['p\u0430ypal', 'Pay 2'], TO_ANA), invite_to_link: true as const }
    for (const text of both(view)) {
      expect(text).toContain('Look-alike letters')
      expect(text).toContain('found by your e-mail address')
    }
  })
})
