import type { types } from '@slack/bolt'
import { describe, expect, it } from 'vitest'
import { ACTION_IDS, ACTIONS_BLOCK_ID, renderCard } from '../../../adapters/slack/cards.ts'
import { viewCard } from '../../../src/flow/tell/view-card.ts'
import { buttonsOf, placedTexts, shownText } from '../../support/block-parts.ts'
import {
  decidedRequest,
  SIX_VIEWS,
  sampleRequest,
  sampleVote,
  TO_ANA,
  TO_BEN,
  TO_CHANNEL,
} from '../../support/card-samples.ts'
import { checkMessage } from '../../support/check-blocks.ts'

const HEADINGS: Record<string, string> = {
  pending: 'Approve or reject this action?',
  'partly-approved': 'Approve or reject this action?',
  approved: '✅ Approved',
  rejected: '❌ Rejected',
  expired: '⌛ Expired without a decision',
  withdrawn: '↩️ Withdrawn',
}
const page = 'https://approve.example.com/a/req_7k2m9q4r8s1t6w5x0yzabcdefg'

describe('the six states of a card', () => {
  it.each(SIX_VIEWS)('$name: says so first, breaks no limit and keeps the action', ({ name, view }) => {
    const message = renderCard(view)
    const blocks: types.KnownBlock[] = message.blocks
    expect(checkMessage(message)).toEqual([])
    expect(blocks[0]).toMatchObject({ type: 'header', text: { text: HEADINGS[name] } })
    expect(shownText(blocks)).toContain(
      'Delete 18 204 invoices older than ten years from the billing database',
    )
    expect(shownText(blocks)).toContain('⚠️ High impact')
    // The action comes first: of ours there is at most one badge before it.
    expect(shownText(blocks).slice(HEADINGS[name]?.length)).toMatch(
      /^(⚠️ High impact\n)?Requested action · written by the caller, not checked by CountersignDelete 18/,
    )
  })

  it('tells whether it can be undone, as the word of the caller, and how long an approval can be used', () => {
    const view = viewCard(sampleRequest({ reversibility: 'irreversible', use_within_seconds: 600 }), TO_ANA)
    const text = shownText(renderCard(view).blocks)
    expect(text).toMatch(/Undoing it:\s+Cannot be undone\s+· says the caller/)
    expect(text).toContain('Can be used until 10 min after approval')
  })

  it.each(SIX_VIEWS)('$name: has buttons exactly while somebody can decide', ({ name, view }) => {
    const { blocks } = renderCard(view)
    const open = name === 'pending' || name === 'partly-approved'
    expect(buttonsOf(blocks).length).toBe(open ? 3 : 0)
    expect(JSON.stringify(blocks).includes('"type":"link"')).toBe(!open)
  })

  it.each(SIX_VIEWS)('$name: is drawn alike twice, and by nothing but its view', ({ view }) => {
    expect(renderCard(structuredClone(view))).toEqual(renderCard(view))
  })

  it('says who decided, how, when and by which receipt', () => {
    const request = decidedRequest(sampleVote({ decision: 'rejected', comment: 'Not now.' }))
    const { blocks } = renderCard(viewCard(request, TO_ANA))
    const shown = shownText(blocks)
    for (const line of [
      'Decided by: Ben Okafor\n',
      'Approver: 20c4be11f7a59d3e\n',
      'Method: Passkey\n',
      `Receipt: ${sampleVote().decision_id}`,
      'Comment of the approverNot now.',
    ])
      expect(shown).toContain(line)
    expect(shownText(renderCard(viewCard(request, TO_BEN)).blocks)).toContain('Decided by: You\n')
  })

  it('gives our dates in the reader’s zone, with UTC for clients that cannot', () => {
    const { blocks } = renderCard(viewCard(sampleRequest(), TO_ANA))
    expect(JSON.stringify(blocks)).toContain(
      JSON.stringify({
        type: 'date',
        timestamp: Date.parse('2026-09-14T14:15:00Z') / 1000,
        format: '{date_short_pretty} at {time}',
        fallback: '2026-09-14 14:15 UTC',
      }),
    )
    // A span of time would be false a minute later, and no card is drawn again for that.
    expect(shownText(blocks)).not.toMatch(/to decide|\d (h|min)\b/)
  })

  it('shows how far a quorum is', () => {
    const two = { ...sampleRequest().requirement, quorum: 2 }
    const request = sampleRequest({ requirement: two, votes: [sampleVote()] })
    const progress = '1 of 2. One rejection rejects.'
    expect(shownText(renderCard(viewCard(request, TO_ANA)).blocks)).toContain(progress)
    expect(shownText(renderCard(viewCard(request, TO_ANA)).blocks)).toContain(
      '\nApproved by: Ben Okafor\nWaits for: you',
    )
    expect(shownText(renderCard(viewCard(request, TO_CHANNEL)).blocks)).not.toMatch(/Ben|Ana|You|you/)
    const named = shownText(renderCard(viewCard(request, { ...TO_CHANNEL, namesInChannels: true })).blocks)
    expect(named).toContain('\nApproved by: Ben Okafor\nWaits for: Ana Pereira')
    expect(shownText(renderCard(viewCard(sampleRequest(), TO_ANA)).blocks)).toContain(
      '\nWaits for: you or Ben Okafor',
    )
    const mine = renderCard(viewCard(request, TO_BEN)).blocks
    expect(mine[0]).toMatchObject({ text: { text: 'You approved. Waiting for others' } })
    expect(buttonsOf(mine).map(({ action_id }) => action_id)).toEqual([ACTION_IDS.details])
  })
})

describe('buttons', () => {
  it('are links to the hosted page under constant ids, named for screen readers, without a secret', () => {
    const { blocks } = renderCard(viewCard(sampleRequest(), TO_ANA))
    expect(blocks.find(({ type }) => type === 'actions')?.block_id).toBe(ACTIONS_BLOCK_ID)
    expect(ACTIONS_BLOCK_ID).toBe('countersign_actions')
    expect(buttonsOf(blocks)).toEqual([
      {
        type: 'button',
        action_id: 'countersign_approve',
        text: { type: 'plain_text', text: 'Approve…', emoji: false },
        url: `${page}?d=approve`,
        accessibility_label: 'Approve: opens the approval page',
        style: 'primary',
      },
      {
        type: 'button',
        action_id: 'countersign_reject',
        text: { type: 'plain_text', text: 'Reject…', emoji: false },
        url: `${page}?d=reject`,
        accessibility_label: 'Reject: opens the approval page',
        style: 'danger',
      },
      {
        type: 'button',
        action_id: 'countersign_details',
        text: { type: 'plain_text', text: 'Details', emoji: false },
        url: page,
        accessibility_label: 'Details: opens the approval page',
      },
    ])
  })

  it('T46: carry no value, so that a stale or copied card decides nothing', () => {
    for (const { view } of SIX_VIEWS) expect(JSON.stringify(renderCard(view))).not.toContain('"value"')
  })

  it('offer a channel and a dry run the page alone', () => {
    for (const view of [
      viewCard(sampleRequest(), TO_CHANNEL),
      viewCard(sampleRequest({ sandbox: true }), TO_ANA),
    ]) {
      const { blocks } = renderCard(view)
      expect(buttonsOf(blocks).map(({ url }) => url)).toEqual([page])
      expect(blocks[0]).toMatchObject({ text: { text: 'Waiting for a decision' } })
    }
    const dry = renderCard(viewCard(sampleRequest({ sandbox: true }), TO_ANA))
    expect(shownText(dry.blocks)).toContain('Sandbox: a dry run')
    expect(dry.text).toMatch(/^🧪 Sandbox\. ⚠️ High impact\. Waiting for a decision\. /)
  })
})

describe('the layout', () => {
  it('shows arguments as preformatted JSON, findings with severity in words, other fields as the caller’s', () => {
    const { blocks } = renderCard(viewCard(sampleRequest(), TO_ANA))
    const placed = placedTexts(blocks)
    const find = (part: string) => placed.find(({ text }) => text.includes(part))?.within.at(-2)
    expect(find('"database": "billing"')).toBe('rich_text_preformatted')
    expect(find('⛔ Severity: ')).toBe('rich_text_quote')
    expect(find('Other fields')).toBe('rich_text_section')
    expect(find('ticket')).toBe('rich_text_quote')
    expect(shownText(blocks)).toContain(
      '⛔ Severity: high\nDetector: destructive-sql\nSnippet: DELETE FROM invoices',
    )
  })

  it('invites whoever was found by an e-mail address to say who they are', () => {
    const view = viewCard(sampleRequest(), TO_ANA)
    expect(shownText(renderCard({ ...view, invite_to_link: true }).blocks)).toContain('/countersign link')
    expect(shownText(renderCard(view).blocks)).not.toContain('/countersign link')
  })

  it('says when the caller gave nothing but the action', () => {
    const bare = renderCard(viewCard(sampleRequest({}, {}), TO_ANA)).blocks
    expect(shownText(bare)).toContain('The caller gave no further details.')
    expect(shownText(renderCard(viewCard(sampleRequest({}, {}), TO_CHANNEL)).blocks)).not.toContain(
      'no further',
    )
  })

  it('T41: says in the notification who asks and, quoted, what', () => {
    const who =
      'ops-agent-prod of Example Ltd asks: “Delete 18 204 invoices older than ten years from the billing database”'
    expect(SIX_VIEWS.map(({ view }) => renderCard(view).text)).toEqual([
      `⚠️ High impact. Approve or reject? ${who}`,
      `⚠️ High impact. Approve or reject? ${who}`,
      `Approved. ${who}`,
      `Rejected. ${who}`,
      `Expired without a decision. ${who}`,
      `Withdrawn. ${who}`,
    ])
  })
})
