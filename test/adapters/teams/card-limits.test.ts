import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { renderCard, renderDetails, renderReply } from '../../../adapters/teams/cards.ts'
import { CARD_BUDGET, TEAMS_LIMITS } from '../../../adapters/teams/limits.ts'
import { visibleString } from '../../../src/domain/text.ts'
import { viewCard } from '../../../src/flow/tell/view-card.ts'
import { anyRequest, anyText } from '../../support/any-request.ts'
import { buttonsOn, cardLines, cardText } from '../../support/card-lines.ts'
import { decidedRequest, sampleRequest, sampleVote, TO_ANA, TO_CHANNEL } from '../../support/card-samples.ts'
import { checkCard } from '../../support/check-card.ts'
import { LARGE, many } from '../../support/large-requests.ts'

const viewOf = (context: object, action = 'Pay') => viewCard(sampleRequest({ action }, context), TO_ANA)

describe('no card is larger than Teams takes', () => {
  it.each(LARGE)('with $name', ({ context, action }) => {
    for (const message of [renderCard(viewOf(context, action)), renderDetails(viewOf(context, action))]) {
      expect(checkCard(message)).toEqual([])
      expect(buttonsOn(message.card).map(({ title }) => title)).toContain('Approve…')
    }
  })

  it('whatever the request', () => {
    fc.assert(
      fc.property(anyRequest, fc.constantFrom(TO_ANA, TO_CHANNEL), (request, to) => {
        const view = viewCard(request, to)
        const message = renderCard(view)
        expect([...checkCard(message), ...checkCard(renderDetails(view))]).toEqual([])
        expect(renderCard(structuredClone(view))).toEqual(message)
      }),
      { numRuns: 150 },
    )
  })

  it('nor a message below it', () => {
    fc.assert(
      fc.property(anyText(500), anyText(1000), fc.boolean(), (action, comment, automatic) => {
        const view = viewCard(decidedRequest(sampleVote({ comment }), { action }), TO_ANA)
        if (view.status.kind !== 'approved') throw new Error('the sample is approved')
        const { request_id, audience, requested_by, action: shown, expires_at, status } = view
        const about = { request_id, audience, requested_by, action: shown, details: view.links.details }
        const decided = renderReply({ kind: 'decided', status, ...about })
        const reminder = renderReply({
          kind: 'reminder',
          expires_at,
          automatic,
          ...about,
        })
        expect([...checkCard(decided), ...checkCard(reminder)]).toEqual([])
      }),
      { numRuns: 50 },
    )
  })

  it('and the first card leaves most of the budget to Details', () => {
    const view = viewOf({ reason: 'long words '.repeat(400), ...many(100, (index) => `value ${index}`) })
    const [first, more] = [renderCard(view), renderDetails(view)].map((one) => JSON.stringify(one).length)
    expect(first).toBeLessThan(CARD_BUDGET * 0.65)
    expect(more).toBeGreaterThan(CARD_BUDGET * 0.75)
  })
})

/** The numbers in "… 1 240 more characters on the approval page". */
function counted(card: object, what: string): number {
  const pattern = new RegExp(`^… ([\\d ]+) more ${what} on the approval page$`)
  return cardLines(card)
    .map(({ text }) => pattern.exec(text)?.[1]?.replaceAll(' ', ''))
    .reduce((sum, digits) => sum + Number(digits ?? 0), 0)
}

describe('nothing is cut without saying how much', () => {
  it('counts what is missing of a long value in words', () => {
    for (const render of [renderCard, renderDetails]) {
      const { card } = render(viewOf({ reason: 'x'.repeat(7000) }))
      const shown = cardLines(card).find(({ text }) => text.startsWith('xxx'))?.text ?? ''
      expect(shown.length).toBeGreaterThan(render === renderCard ? 900 : 2500)
      expect(counted(card, 'characters')).toBe(7000 - shown.length)
    }
  })

  it('accounts for every character of every value and name', () => {
    fc.assert(
      fc.property(anyText(3000), anyText(400), anyText(500), (value, key, action) => {
        const { card } = renderCard(viewOf({ [`k${key}`]: value }, action))
        const inside = cardLines(card)
          .filter(({ ground }) => ground === 'emphasis')
          .map(({ text }) => text.replace(/: empty text$/, ': ').replace(/^empty text$/, ''))
        const name = visibleString(`k${key}`).replaceAll('\n', '[U+000A]').replaceAll('\t', '[U+0009]')
        const all = visibleString(value) + name + visibleString(action)
        // Blanks at a cut go; braces stand apart; a short value has ": " before it.
        const count = (text: string) => [...text.replace(/([{$])(?=\{)/g, '$1 ')].length
        const total = [...inside.join('')].length + counted(card, 'characters?')
        const slack = count(all) - [...all].length + 2
        expect(total).toBeGreaterThanOrEqual([...all].length)
        expect(total).toBeLessThanOrEqual([...all].length + slack)
      }),
      { numRuns: 150 },
    )
  })

  it('counts fields and findings that found no place', () => {
    const { card } = renderDetails(viewOf(many(2000, (index) => index)))
    const shown = cardLines(card).filter(({ text }) => text.startsWith('field_')).length
    expect(shown).toBeGreaterThan(12)
    expect(counted(card, 'fields')).toBe(2000 - shown)
    const findings = Array.from({ length: 40 }, (_, index) => ({
      severity: index === 39 ? 'critical' : 'info',
      detector: `d${index}`,
    }))
    const long = renderCard(viewOf({ risk_arg_findings: findings })).card
    const listed = cardLines(long).filter(({ text }) => text.includes('Severity: ')).length
    expect(counted(long, 'findings, none graver,')).toBe(40 - listed)
    expect(cardText(long)).toContain('Severity: critical')
  })

  it('does not let other fields crowd out the named ones', () => {
    const { card } = renderCard(viewOf({ reason: 'r'.repeat(500), ...many(300, () => 'o'.repeat(50)) }))
    expect(cardLines(card).some(({ text }) => text === 'r'.repeat(500))).toBe(true)
  })

  it('cuts between characters', () => {
    for (const filler of ['\u{1f600}', '👩‍👩‍👧', 'é']) {
      const { card } = renderCard(viewOf({ reason: `a${filler.repeat(4000)}` }))
      const shown = cardLines(card).find(({ text }) => text.startsWith(`a${filler}`))?.text ?? ''
      expect(shown.isWellFormed()).toBe(true)
      expect(shown).not.toMatch(/\u200d$/)
    }
  })
})

it('stays below every limit that Teams ever documented for a bot’s message', () => {
  expect(TEAMS_LIMITS.activityBytes).toBeLessThan(28 * 1024)
  expect(CARD_BUDGET * 2 + TEAMS_LIMITS.envelopeBytes).toBe(TEAMS_LIMITS.activityBytes)
})

it('keeps room for what stands around a card, with the longest ids and names', () => {
  const uuid = '00000000-0000-0000-0000-000000000000'
  const activity = {
    type: 'message',
    channelId: 'msteams',
    serviceUrl: `https://smba.trafficmanager.net/emea/${uuid}/`,
    from: { id: `28:${uuid}`, name: 'n'.repeat(200) },
    recipient: { id: `29:${'x'.repeat(200)}`, name: 'n'.repeat(200), aadObjectId: uuid, role: 'user' },
    conversation: {
      id: `19:${'x'.repeat(300)}@thread.tacv2;messageid=1789391940000`,
      name: 'n'.repeat(200),
      conversationType: 'channel',
      tenantId: uuid,
      isGroup: true,
    },
    channelData: { tenant: { id: uuid }, team: { id: 'x'.repeat(200) }, channel: { id: 'x'.repeat(200) } },
    replyToId: '1789391940000',
    inputHint: 'acceptingInput',
    attachmentLayout: 'list',
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', content: {} }],
  }
  expect(Buffer.byteLength(JSON.stringify(activity), 'utf16le')).toBeLessThan(TEAMS_LIMITS.envelopeBytes)
})
