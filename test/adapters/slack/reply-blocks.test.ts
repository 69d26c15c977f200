import { describe, expect, it } from 'vitest'
import { MOVED_HEADING, MOVED_SENTENCE } from '../../../adapters/shared/small-cards.ts'
import { renderMoved, renderReply } from '../../../adapters/slack/cards.ts'
import type { ReplyView } from '../../../src/domain/card-view.ts'
import { type CardAudience, viewCard } from '../../../src/flow/tell/view-card.ts'
import { shownText } from '../../support/block-parts.ts'
import { decidedRequest, sampleVote, TO_ANA, TO_CHANNEL } from '../../support/card-samples.ts'
import { checkMessage } from '../../support/check-blocks.ts'

function decided(to: CardAudience): ReplyView {
  const request = decidedRequest(sampleVote({ decision: 'rejected', comment: 'Not now.' }))
  const { status, request_id, audience, requested_by, action, links } = viewCard(request, to)
  if (status.kind !== 'rejected') throw new Error('the sample is rejected')
  const decided = { ...status, kind: status.kind }
  const about = { request_id, audience, requested_by, action, details: links.details }
  return { kind: 'decided', status: decided, ...about }
}

it('leaves two sentences of ours where a card was that is not the reader’s any more', () => {
  const message = renderMoved()
  expect(checkMessage(message)).toEqual([])
  expect(shownText(message.blocks)).toBe(`${MOVED_HEADING}${MOVED_SENTENCE}`)
})

describe('the line below a decided card', () => {
  it('names decision, decider, receipt and how to check it', () => {
    const message = renderReply(decided(TO_ANA))
    expect(checkMessage(message)).toEqual([])
    const shown = shownText(message.blocks)
    for (const part of [
      '❌ Rejected\n',
      'Decided by: Ben Okafor\n',
      `/verify ${sampleVote().decision_id}`,
      'Open the approval page',
    ])
      expect(shown).toContain(part)
    // The thread stands below its card, which says what was asked.
    expect(shown).not.toContain('Requested action')
    expect(message.text).toBe(
      'Rejected. ops-agent-prod of Example Ltd asks: “Delete 18 204 invoices older than ten years from the billing database”',
    )
  })

  it('names no person in a channel, and quotes no comment', () => {
    const said = JSON.stringify(renderReply(decided(TO_CHANNEL)))
    expect(said).toContain('20c4be11f7a59d3e')
    expect(said).not.toMatch(/Ben Okafor|Not now/)
  })
})

describe('a reminder', () => {
  const view: ReplyView = {
    kind: 'reminder',
    request_id: 'req_x',
    audience: 'approver',
    requested_by: { key_name: 'ops-agent-prod', account_name: 'Example Ltd' },
    action: 'a'.repeat(1540),
    expires_at: new Date('2026-09-14T14:15:00Z'),
    automatic: false,
    details: 'https://approve.example.com/a/req_x',
  }

  it('says what waits until when, who reminds and how much of the action is missing', () => {
    const message = renderReply(view)
    expect(checkMessage(message)).toEqual([])
    const shown = shownText(message.blocks)
    for (const part of [
      'the caller asks again',
      '… 1 240 more characters on the approval page',
      'Open the approval page',
    ])
      expect(shown).toContain(part)
    expect(JSON.stringify(message.blocks)).toContain('2026-09-14 14:15 UTC')
    expect(message.text).toMatch(
      /^Reminder: a request waits for your decision, the caller asks again\. ops-agent-prod of Example Ltd asks: “a{120}” … 1 420 more characters$/,
    )
    const odd = renderReply({ ...view, look_alike: '“раураl” mixes letters.' })
    expect(odd.text).toMatch(/^⚠️ Look-alike letters\. Reminder: /)
    expect(renderReply({ ...view, automatic: true }).text).toContain('sent by Countersign')
    expect(renderReply({ ...view, audience: 'channel' }).text).toContain('waits for a decision')
  })
})
