import { describe, expect, it } from 'vitest'
import { renderCard, renderDetails } from '../../../adapters/teams/cards.ts'
import { VERBS } from '../../../adapters/teams/elements.ts'
import { viewCard } from '../../../src/flow/tell/view-card.ts'
import { buttonsOn, cardLines, cardText } from '../../support/card-lines.ts'
import {
  decidedRequest,
  SIX_VIEWS,
  sampleRequest,
  sampleVote,
  TO_ANA,
  TO_BEN,
  TO_CHANNEL,
} from '../../support/card-samples.ts'
import { checkCard } from '../../support/check-card.ts'

const HEADINGS: Record<string, string> = {
  pending: 'Approve or reject this action?',
  'partly-approved': 'Approve or reject this action?',
  approved: '✅ Approved',
  rejected: '❌ Rejected',
  expired: '⌛ Expired without a decision',
  withdrawn: '↩️ Withdrawn',
}
const id = 'req_7k2m9q4r8s1t6w5x0yzabcdefg'
const page = `https://approve.example.com/a/${id}`
const drawn = (...args: Parameters<typeof viewCard>) => renderCard(viewCard(...args)).card
const titles = (card: object) => buttonsOn(card).map(({ title }) => title)

describe('the six states of a card', () => {
  it.each(SIX_VIEWS)(
    '$name: says so first, breaks no rule of Teams and keeps the action',
    ({ name, view }) => {
      const message = renderCard(view)
      expect(checkCard(message)).toEqual([])
      const lines = cardLines(message.card)
      expect(lines[0]).toMatchObject({ type: 'TextBlock', text: HEADINGS[name] })
      // The action comes first: of ours there is at most one badge before it.
      expect(lines.findIndex(({ text }) => text.startsWith('Requested action'))).toBeLessThanOrEqual(2)
      expect(cardText(message.card)).toContain(
        '\nRequested action · written by the caller, not checked by Countersign\nDelete 18 204 invoices older than ten years from the billing database\n',
      )
      expect(cardText(message.card)).toContain('⚠️ High impact\n')
    },
  )

  it('tells whether it can be undone, as the word of the caller', () => {
    const view = viewCard(sampleRequest({ reversibility: 'irreversible' }), TO_ANA)
    expect(cardText(renderCard(view).card)).toMatch(/Undoing it:\s+Cannot be undone\s+· says the caller/)
  })

  it.each(SIX_VIEWS)('$name: has buttons exactly while somebody can decide', ({ name, view }) => {
    const open = name === 'pending' || name === 'partly-approved'
    expect(titles(renderCard(view).card)).toEqual(
      open ? ['Approve…', 'Reject…', 'Details', 'Refresh'] : ['Open the approval page'],
    )
  })

  it.each(SIX_VIEWS)('$name: is drawn alike twice, and by nothing but its view', ({ view }) => {
    expect(renderCard(structuredClone(view))).toEqual(renderCard(view))
  })

  it('says who decided, how, when and by which receipt', () => {
    const request = decidedRequest(sampleVote({ decision: 'rejected', comment: 'Not now.' }))
    const shown = cardText(drawn(request, TO_ANA))
    for (const line of [
      'Decided by: Ben Okafor',
      'Approver: 20c4be11f7a59d3e',
      'Method: Passkey',
      `Receipt: ${sampleVote().decision_id}`,
      'Comment of the approver\nNot now.',
    ])
      expect(shown).toContain(`\n${line}\n`)
    expect(cardText(drawn(request, TO_BEN))).toContain('\nDecided by: You\n')
  })

  it('tells a channel neither name, comment nor context, and leaves it no way to ask for them', () => {
    const request = decidedRequest(sampleVote({ decision: 'rejected', comment: 'Not now.' }))
    expect(cardText(drawn(request, TO_CHANNEL))).toContain('Approver: 20c4be11f7a59d3e')
    expect(JSON.stringify(drawn(request, TO_CHANNEL))).not.toMatch(/Ben Okafor|Not now/)
    const open = viewCard(sampleRequest(), TO_CHANNEL)
    expect(titles(renderCard(open).card)).toEqual(['Open the approval page', 'Refresh'])
    expect(renderDetails(open)).toEqual(renderCard(open))
    expect(JSON.stringify(renderDetails(open))).not.toMatch(/postgres|OPS-4411|countersign\.details/)
  })

  it('gives our moments in the reader’s zone, in whole seconds', () => {
    const expires_at = new Date('2026-09-14T14:15:00.789Z')
    const shown = cardText(drawn(sampleRequest({ expires_at }), TO_ANA))
    expect(shown).toContain(
      '\nExpires at: {{TIME(2026-09-14T14:15:00Z)}} · {{DATE(2026-09-14T14:15:00Z,SHORT)}}\n',
    )
    expect(shown).not.toMatch(/to decide|\d (h|min)\b/)
  })

  it('shows how far a quorum is', () => {
    const two = { ...sampleRequest().requirement, quorum: 2 }
    const request = sampleRequest({ requirement: two, votes: [sampleVote()] })
    expect(cardText(drawn(request, TO_ANA))).toContain(
      '\nVotes: 1 of 2. One rejection rejects.\nApproved by: Ben Okafor\nWaits for: you\n',
    )
    expect(cardText(drawn(request, TO_CHANNEL))).not.toMatch(/Ben|Ana|You|you/)
    expect(cardText(drawn(request, TO_BEN))).toMatch(/^You approved\. Waiting for others\n/)
    expect(titles(drawn(request, TO_BEN))).toEqual(['Open the approval page', 'Details', 'Refresh'])
  })

  it('calls a dry run one, and has nobody decide it', () => {
    const dry = drawn(sampleRequest({ sandbox: true, high_impact: false }), TO_ANA)
    expect(cardText(dry)).toMatch(/^Waiting for a decision\n🧪 Sandbox: a dry run\n/)
    expect(titles(dry)).toEqual(['Open the approval page', 'Details', 'Refresh'])
  })
})

describe('buttons', () => {
  it('open the hosted page, or ask the bot to look again; none carries a secret', () => {
    const submit = (title: string, verb: string) => ({
      type: 'Action.Submit',
      title,
      data: { verb, request_id: id },
    })
    const view = viewCard(sampleRequest({}, { reason: 'r'.repeat(2000) }), TO_ANA)
    expect(buttonsOn(renderCard(view).card)).toEqual([
      {
        type: 'Action.OpenUrl',
        title: 'Approve…',
        url: `${page}?d=approve`,
        style: 'positive',
        tooltip: 'Approve: opens the approval page',
      },
      {
        type: 'Action.OpenUrl',
        title: 'Reject…',
        url: `${page}?d=reject`,
        style: 'destructive',
        tooltip: 'Reject: opens the approval page',
      },
      {
        type: 'Action.Execute',
        title: 'More details',
        verb: 'countersign.details',
        data: { request_id: id },
        fallback: submit('More details', 'countersign.details'),
      },
      { type: 'Action.ToggleVisibility', title: 'Details', targetElements: ['countersign_details'] },
      {
        type: 'Action.Execute',
        title: 'Refresh',
        verb: 'countersign.refresh',
        data: { request_id: id },
        fallback: submit('Refresh', 'countersign.refresh'),
      },
    ])
    expect(VERBS).toEqual({ refresh: 'countersign.refresh', details: 'countersign.details' })
  })

  it('T46: leave a closed card with a link to look at, and nothing that the bot would answer', () => {
    for (const { name, view } of SIX_VIEWS) {
      if (name === 'pending' || name === 'partly-approved') continue
      expect(renderCard(view).card.actions).toEqual([
        { type: 'Action.OpenUrl', title: 'Open the approval page', url: page },
      ])
      expect(renderDetails(view)).toEqual(renderCard(view))
    }
  })
})

describe('the answer to More details', () => {
  const long = Object.fromEntries(Array.from({ length: 14 }, (_, at) => [`field_${at}`, `value ${at}`]))

  it('shows what the first card has no room for', () => {
    const view = viewCard(sampleRequest({}, { reason: 'r'.repeat(2500), ...long }), TO_ANA)
    const [first, more] = [cardText(renderCard(view).card), cardText(renderDetails(view).card)]
    expect(first).toMatch(/… \d more fields on the approval page/)
    expect(titles(renderCard(view).card)).toContain('More details')
    expect(first).not.toContain('value 9')
    expect(checkCard(renderDetails(view))).toEqual([])
    for (const part of ['r'.repeat(2500), 'field_13: value 13', 'Requested: {{TIME(2026-09-14T13:15:00Z)}}'])
      expect(more).toContain(part)
    expect(more).toContain('\nThis is all that the caller wrote.\n')
    expect(titles(renderDetails(view).card)).toEqual(['Approve…', 'Reject…', 'Refresh'])
  })

  it('says so when even that is not all, and when the first card was', () => {
    const huge = viewCard(sampleRequest({}, { reason: 'r'.repeat(9000) }), TO_ANA)
    expect(cardText(renderDetails(huge).card)).toContain(
      '\nThe approval page shows all that the caller wrote.\n',
    )
    const { view } = SIX_VIEWS[0] ?? { view: huge }
    expect(titles(renderCard(view).card)).not.toContain('More details')
    expect(cardText(renderCard(view).card)).toContain('\nticket: OPS-4411\n')
  })
})

describe('the layout', () => {
  it('frames what the caller wrote, and nothing else', () => {
    const lines = cardLines(drawn(sampleRequest(), TO_ANA))
    const ground = (part: string) => lines.find(({ text }) => text.includes(part))?.ground
    for (const part of [
      '"database": "billing"',
      'Severity: high',
      'ticket: ',
      'Reason: Invoices',
      'Delete 18',
    ])
      expect(ground(part)).toBe('emphasis')
    for (const part of [
      'Requested action',
      'Other fields',
      'Risk findings',
      'End of the caller',
      'Requested by: ',
    ])
      expect(ground(part)).toBeUndefined()
    expect(ground('⚠️ High impact')).toBe('attention')
  })

  it('keeps the layout of JSON where clients make one blank of many', () => {
    const runs = JSON.stringify(drawn(sampleRequest(), TO_ANA))
    expect(runs).toContain('{\\n\u00a0\u00a0\\"database\\": \\"billing\\"')
  })

  it('invites whoever was found by an e-mail address to say who they are', () => {
    const view = viewCard(sampleRequest(), TO_ANA)
    expect(cardText(renderCard({ ...view, invite_to_link: true }).card)).toContain('Write “link” to this app')
    expect(cardText(renderCard(view).card)).not.toContain('Write “link”')
  })

  it('says when the caller gave nothing but the action', () => {
    const none = 'The caller gave no further details.'
    expect(cardText(drawn(sampleRequest({}, {}), TO_ANA))).toContain(none)
    expect(cardText(drawn(sampleRequest({}, {}), TO_CHANNEL))).not.toContain(none)
  })

  it('T41: notifications say who asks and, quoted, what; old clients learn where to go', () => {
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
    for (const { view } of SIX_VIEWS) {
      const { card, text } = renderCard(view)
      expect(card.fallbackText).toBe(`${text} See ${page}`)
    }
  })
})
