import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { renderCard, renderReply } from '../../../adapters/slack/cards.ts'
import { HEADER_LENGTH, MESSAGE_BUDGET } from '../../../adapters/slack/limits.ts'
import { visibleString } from '../../../src/domain/text.ts'
import { viewCard } from '../../../src/flow/tell/view-card.ts'
import { anyRequest, anyText } from '../../support/any-request.ts'
import { placedTexts, shownText } from '../../support/block-parts.ts'
import { decidedRequest, sampleRequest, sampleVote, TO_ANA, TO_CHANNEL } from '../../support/card-samples.ts'
import { checkMessage } from '../../support/check-blocks.ts'
import { LARGE, many } from '../../support/large-requests.ts'

const cardOf = (context: object, action = 'Pay') =>
  renderCard(viewCard(sampleRequest({ action }, context), TO_ANA))

describe('no card breaks a limit of Slack', () => {
  it.each(LARGE)('with $name', ({ context, action }) => {
    const message = cardOf(context, action)
    expect(checkMessage(message)).toEqual([])
    expect(shownText(message.blocks)).toContain('Approve…')
  })

  it('whatever the request', () => {
    fc.assert(
      fc.property(anyRequest, fc.constantFrom(TO_ANA, TO_CHANNEL), (request, to) => {
        const view = viewCard(request, to)
        const message = renderCard(view)
        expect(checkMessage(message)).toEqual([])
        expect(renderCard(structuredClone(view))).toEqual(message)
      }),
      { numRuns: 200 },
    )
  })

  it('nor a line in the thread', () => {
    fc.assert(
      fc.property(anyText(500), anyText(1000), fc.boolean(), (action, comment, automatic) => {
        const view = viewCard(decidedRequest(sampleVote({ comment }), { action }), TO_ANA)
        if (view.status.kind !== 'approved') throw new Error('the sample is approved')
        const { request_id, audience, requested_by, expires_at, links, status } = view
        const about = { request_id, audience, requested_by, action: view.action, details: links.details }
        const decided = renderReply({ kind: 'decided', status, ...about })
        const reminder = renderReply({
          kind: 'reminder',
          expires_at,
          automatic,
          ...about,
        })
        expect([...checkMessage(decided), ...checkMessage(reminder)]).toEqual([])
      }),
      { numRuns: 50 },
    )
  })
})

/** The numbers in "… 1 240 more characters on the approval page". */
function counted(blocks: unknown, what: string): number {
  const pattern = new RegExp(`^… ([\\d ]+) more ${what} on the approval page$`)
  return placedTexts(blocks)
    .map(({ text }) => pattern.exec(text)?.[1]?.replaceAll(' ', ''))
    .reduce((sum, digits) => sum + Number(digits ?? 0), 0)
}

describe('nothing is cut without saying how much', () => {
  it('counts what is missing of a long value in words', () => {
    const { blocks } = cardOf({ reason: 'x'.repeat(7000) })
    const shown = placedTexts(blocks).find(({ text }) => text.startsWith('xxx'))?.text ?? ''
    expect(shown.length).toBeGreaterThan(2000)
    expect(counted(blocks, 'characters')).toBe(7000 - shown.length)
    expect(shownText(blocks)).toMatch(/… \d \d{3} more characters on the approval page/)
  })

  it('accounts for every character of every value and name', () => {
    fc.assert(
      fc.property(anyText(3000), anyText(400), anyText(500), (value, key, action) => {
        const { blocks } = cardOf({ [`k${key}`]: value }, action)
        const framed = placedTexts(blocks)
          .filter(({ within }) => within[1] === 'rich_text_quote' || within[1] === 'rich_text_preformatted')
          .map(({ text }) => text)
          .filter((text) => text !== 'empty text' && text !== '\n' && text !== ': ')
        const name = visibleString(`k${key}`).replaceAll('\n', '[U+000A]').replaceAll('\t', '[U+0009]')
        const all = visibleString(value) + name + visibleString(action)
        const missing = counted(blocks, 'characters?')
        const ignored = [...all].filter((one) => one === '\n').length
        const seen = [...framed.join('')].length
        expect(seen + missing).toBeGreaterThanOrEqual([...all].length - ignored)
        expect(seen + missing).toBeLessThanOrEqual([...all].length)
      }),
      { numRuns: 150 },
    )
  })

  it('counts fields and findings that found no place', () => {
    const { blocks } = cardOf(many(2000, (index) => index))
    const shown = placedTexts(blocks).filter(({ text }) => text.startsWith('field_')).length
    expect(shown).toBeGreaterThan(8)
    expect(counted(blocks, 'fields')).toBe(2000 - shown)
    const findings = Array.from({ length: 40 }, (_, index) => ({
      severity: index === 39 ? 'critical' : 'info',
      detector: `d${index}`,
    }))
    const long = cardOf({ risk_arg_findings: findings }).blocks
    const listed = placedTexts(long).filter(({ text }) => text.includes('Severity: ')).length
    expect(counted(long, 'findings, none graver,')).toBe(40 - listed)
    expect(shownText(long)).toContain('Severity: critical')
  })

  it('does not let other fields crowd out the named ones', () => {
    const { blocks } = cardOf({ reason: 'r'.repeat(600), ...many(300, () => 'o'.repeat(50)) })
    expect(placedTexts(blocks).some(({ text }) => text === 'r'.repeat(600))).toBe(true)
  })

  it('cuts between characters', () => {
    for (const filler of ['\u{1f600}', '👩‍👩‍👧', 'é']) {
      const { blocks } = cardOf({ reason: `a${filler.repeat(4000)}` })
      const shown = placedTexts(blocks).find(({ text }) => text.startsWith(`a${filler}`))?.text ?? ''
      expect(shown.isWellFormed()).toBe(true)
      expect(shown).not.toMatch(/\u200d$/)
    }
  })
})

it('leaves room below what Slack was seen to refuse', () => {
  expect(MESSAGE_BUDGET.json).toBeLessThan(13_297)
  expect(MESSAGE_BUDGET.text).toBeLessThan(11_341)
  expect(HEADER_LENGTH).toBe(150)
})
