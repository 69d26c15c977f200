import { describe, expect, it } from 'vitest'
import { MOVED_HEADING, MOVED_SENTENCE } from '../../../adapters/shared/small-cards.ts'
import { renderMoved, renderReply } from '../../../adapters/teams/cards.ts'
import type { ReplyView } from '../../../src/domain/card-view.ts'
import { type CardAudience, viewCard } from '../../../src/flow/tell/view-card.ts'
import { cardText } from '../../support/card-lines.ts'
import { decidedRequest, sampleVote, TO_ANA, TO_CHANNEL } from '../../support/card-samples.ts'
import { checkCard } from '../../support/check-card.ts'

const page = 'https://approve.example.com/a/req_7k2m9q4r8s1t6w5x0yzabcdefg'

function decided(to: CardAudience): ReplyView {
  const request = decidedRequest(sampleVote({ decision: 'rejected', comment: 'Not now.' }))
  const { status, request_id, audience, requested_by, action, links } = viewCard(request, to)
  if (status.kind !== 'rejected') throw new Error('the sample is rejected')
  const decided = { ...status, kind: status.kind }
  const about = { request_id, audience, requested_by, action, details: links.details }
  return { kind: 'decided', status: decided, ...about }
}

describe('the message after a decision', () => {
  it('names decision, decider, receipt and how to check it', () => {
    const message = renderReply(decided(TO_ANA))
    expect(checkCard(message)).toEqual([])
    const shown = cardText(message.card)
    for (const line of ['❌ Rejected', 'Decided by: Ben Okafor', 'Method: Passkey'])
      expect(shown.split('\n')).toContain(line)
    expect(shown).toContain(`Anyone can check it: verify ${sampleVote().decision_id}`)
    expect(message.text).toBe(
      'Rejected. ops-agent-prod of Example Ltd asks: “Delete 18 204 invoices older than ten years from the billing database”',
    )
    expect(message.card.actions).toEqual([
      { type: 'Action.OpenUrl', title: 'Open the approval page', url: page },
    ])
  })

  it('says what was decided: it may stand below the card of another request', () => {
    const view = {
      ...decided(TO_ANA),
      action: `Pay {{DATE(2026-01-01T00:00:00Z,SHORT)}} ${'a'.repeat(1500)}`,
    }
    const message = renderReply(view)
    expect(checkCard(message)).toEqual([])
    const lines = cardText(message.card).split('\n')
    expect(lines[1]).toBe('Requested action · written by the caller')
    const frame = message.card.body[2]
    expect(frame).toMatchObject({ type: 'Container', style: 'emphasis' })
    expect(JSON.stringify(frame)).toContain('Pay { {DATE(')
    expect(lines.join(' ')).toContain('more characters on the approval page')
    expect(lines.at(-1)).toContain('Braces are drawn apart here')
    expect(message.text).toContain('asks: “Pay { {DATE(2026-01-01T00: 00: 00Z,SHORT)}} aaa')
  })

  it('names no person in a channel, and quotes no comment', () => {
    const said = JSON.stringify(renderReply(decided(TO_CHANNEL)))
    expect(said).toContain('20c4be11f7a59d3e')
    expect(said).not.toMatch(/Ben Okafor|Not now/)
  })
})

describe('a reminder', () => {
  it('says what waits until when, who reminds and how much of the action is missing', () => {
    const view: ReplyView = {
      kind: 'reminder',
      request_id: 'req_x',
      audience: 'approver',
      requested_by: { key_name: 'ops-agent-prod', account_name: 'Example Ltd' },
      action: 'a'.repeat(1540),
      expires_at: new Date('2026-09-14T14:15:00Z'),
      automatic: false,
      details: page,
    }
    const message = renderReply(view)
    expect(checkCard(message)).toEqual([])
    const shown = cardText(message.card)
    for (const part of [
      'the caller asks again\n',
      '\n… 1 240 more characters on the approval page',
      'Expires at: {{TIME(2026-09-14T14:15:00Z)}}',
    ])
      expect(shown).toContain(part)
    expect(message.card.actions?.map(({ title }) => title)).toEqual(['Open the approval page'])
    expect(message.text).toMatch(
      /^Reminder: a request waits for your decision, the caller asks again\. ops-agent-prod of Example Ltd asks: “a{120}” … 1 420 more characters$/,
    )
    expect(renderReply({ ...view, automatic: true }).text).toContain('sent by Countersign')
    expect(renderReply({ ...view, audience: 'channel' }).text).toContain('waits for a decision')
  })
})

it('leaves two sentences of ours, and no button, where a card was that is not the reader’s any more', () => {
  const message = renderMoved()
  expect(checkCard(message)).toEqual([])
  expect(cardText(message.card)).toContain(MOVED_HEADING)
  expect(cardText(message.card)).toContain(MOVED_SENTENCE)
  expect(message.card).not.toHaveProperty('actions')
})
