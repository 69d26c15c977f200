import { describe, expect, it } from 'vitest'
import { renderCard as renderSlack } from '../../adapters/slack/cards.ts'
import { renderCard as renderTeams } from '../../adapters/teams/cards.ts'
import type { CardView } from '../../src/domain/card-view.ts'
import type { ApprovalRequest, Vote } from '../../src/domain/request.ts'
import { type CardAudience, viewCard } from '../../src/flow/tell/view-card.ts'
import { shownText } from '../support/block-parts.ts'
import { cardText } from '../support/card-lines.ts'
import { decidedRequest, sampleRequest, sampleVote, TO_ANA } from '../support/card-samples.ts'

const DORA = 'usr_0000000000000000000000000d'
const ANA = TO_ANA.personId ?? ''
const names = new Map([...TO_ANA.names, [DORA, 'Dora\u202e\nApproved']])

/** Dora stands in for Ana. */
const toDora: CardAudience = { ...TO_ANA, personId: DORA, principalId: ANA, names }
const toAna: CardAudience = { ...TO_ANA, names }
const two = { ...sampleRequest().requirement, quorum: 2 }

const doras = (changes: Partial<Vote> = {}) =>
  sampleVote({
    user_id: DORA,
    on_behalf_of: ANA,
    approver: '7f3a09c2d41be865',
    delegate: 'd'.repeat(16),
    ...changes,
  })

describe.each<[string, (view: CardView) => string]>([
  ['Slack', (view) => shownText(renderSlack(view).blocks)],
  ['Teams', (view) => cardText(renderTeams(view).card)],
])('a card in %s', (_platform, draw) => {
  const lines = (request: ApprovalRequest, to: CardAudience) => draw(viewCard(request, to))

  it('tells a delegate for whom they are asked, and nobody else', () => {
    expect(lines(sampleRequest(), toDora)).toMatch(/^.*On behalf of: Ana Pereira/m)
    expect(lines(sampleRequest(), toAna)).not.toContain('On behalf of')
  })

  it('tells whose vote is cast by whom, and asks neither again', () => {
    const request = sampleRequest({ requirement: two, votes: [doras()] })
    const ana = lines(request, toAna)
    expect(ana).toContain('This vote is cast. Waiting for others')
    // A name cannot turn our line around or end it.
    expect(ana).toContain('Vote by: Dora[U+202E] Approved')
    expect(ana).not.toContain('d=approve')
    const dora = lines(request, toDora)
    expect(dora).toContain('You approved. Waiting for others')
    expect(dora).toContain('On behalf of: Ana Pereira')
    const own = sampleRequest({ requirement: two, votes: [sampleVote({ user_id: ANA, on_behalf_of: ANA })] })
    expect(lines(own, toDora)).toContain('Vote by: Ana Pereira')
    expect(lines(own, toAna)).toContain('You approved. Waiting for others')
  })

  it('tells who decided for whom', () => {
    const decided = lines(decidedRequest(doras()), toAna)
    expect(decided).toMatch(/Decided by: Dora\[U\+202E\] Approved\s+On behalf of: Ana Pereira/)
    expect(lines(decidedRequest(doras()), toDora)).toMatch(/Decided by: You\s+On behalf of: Ana Pereira/)
    expect(lines(decidedRequest(), toAna)).not.toContain('On behalf of')
  })
})
