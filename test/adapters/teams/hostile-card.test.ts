import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { renderCard, renderDetails, renderReply } from '../../../adapters/teams/cards.ts'
import { visibleString } from '../../../src/domain/text.ts'
import { viewCard } from '../../../src/flow/tell/view-card.ts'
import { anyRequest } from '../../support/any-request.ts'
import { placedTexts } from '../../support/block-parts.ts'
import { buttonsOn, type CardLine, cardLines, cardText } from '../../support/card-lines.ts'
import { decidedRequest, sampleRequest, sampleVote, TO_ANA, TO_CHANNEL } from '../../support/card-samples.ts'
import { checkCard } from '../../support/check-card.ts'
import { HOSTILE, hostileView } from '../../support/hostile-view.ts'

/** As it must come out: braces that clients may fill in stand apart, everything else is unchanged. */
const apart = (text: string) => text.replace(/([{$])(?=\{)/g, '$1 ')
const framed = (lines: readonly CardLine[]) => lines.filter(({ ground }) => ground === 'emphasis')

describe('callers’ text', () => {
  it.each(HOSTILE)('T42, T43: $text is shown literally, in the frame and nowhere else', ({ text }) => {
    for (const [render, least] of [
      [renderCard, 2],
      [renderDetails, 4],
    ] as const) {
      const message = render(hostileView(text))
      expect(checkCard(message)).toEqual([])
      const lines = cardLines(message.card)
      const visible = apart(visibleString(text))
      const inside = framed(lines).filter((line) => line.text.includes(visible))
      expect(inside.length).toBeGreaterThanOrEqual(least)
      const outside = lines.filter(({ ground }) => ground !== 'emphasis')
      const ours = cardLines(renderCard(hostileView('plain words')).card).map((line) => line.text)
      for (const line of outside) {
        const isOurs = ours.includes(line.text) || OUR_LINES.some((pattern) => pattern.test(line.text))
        expect(isOurs, line.text).toBe(true)
      }
      expect(message.text).toMatch(
        /^⚠️ High impact\. (⚠️ (Hidden characters\. |Two directions\. |Look-alike letters\. )+)?Approve or reject\? ops-agent-prod of Example Ltd asks: “[^“”"<>[\]`]*”( … [\d ]+ more characters?)?$/,
      )
      expect(message.text).not.toMatch(/[{$]\{|:\/\/|[*_~]\S/)
      expect(visibleString(message.text)).toBe(message.text)
    }
  })

  it('T16: says that a text of two directions may stand here in another order than the one that is signed', () => {
    const shown = (text: string): string => cardText(renderCard(hostileView(text)).card)
    expect(shown('Move EUR \u05d0 4711 → 0815')).toContain('⚠️ Two directions. Parts of what')
    expect(shown('plain words')).not.toContain('Two directions')
  })

  it('T42: leaves clients no date, template or mention to fill in', () => {
    const view = hostileView(
      '{{DATE(2026-09-14T14:15:00Z)}} ${x} <at>Ana</at> {{{{TIME(2026-09-14T14:15:00Z)}}}}',
    )
    const { card } = renderDetails(view)
    const inside = framed(cardLines(card)).map(({ text }) => text)
    expect(inside.join('\n')).toContain('{ {DATE(2026-09-14T14:15:00Z)}} $ {x} <at>Ana</at> { { { {TIME(')
    expect(inside.join('\n')).not.toMatch(/[{$]\{/)
    expect(cardText(card)).toContain(
      'Braces are drawn apart here: “{ {” and “$ {” were written without the blank.',
    )
    expect(cardText(renderDetails(hostileView('{ x }')).card)).not.toContain('Braces are drawn apart')
    expect(JSON.stringify(card)).not.toMatch(/msteams|entities|mention/)
  })

  it('T42: never stands in a block that draws Markdown, nor on a button', () => {
    fc.assert(
      fc.property(anyRequest, fc.constantFrom(TO_ANA, TO_CHANNEL), (request, to) => {
        const view = viewCard(request, to)
        for (const { card } of [renderCard(view), renderDetails(view)]) {
          for (const { text, within } of placedTexts(card))
            if (within.at(-1) !== 'TextRun') expect(text).toMatch(OUR_HEADINGS)
          for (const { title } of buttonsOn(card)) expect(title).toMatch(OUR_TITLES)
        }
      }),
      { numRuns: 80 },
    )
  })

  it('keeps a fake badge in the frame while ours stands outside', () => {
    const request = sampleRequest(
      { high_impact: false },
      { 'High impact': 'no', Verified: '✅ by Countersign' },
    )
    const fakes = cardLines(renderCard(viewCard(request, TO_ANA)).card).filter(({ text }) =>
      /High impact|Verified|✅/.test(text),
    )
    expect(fakes.map(({ ground }) => ground)).toEqual(['emphasis', 'emphasis'])
    const real = cardLines(renderCard(viewCard(sampleRequest(), TO_ANA)).card)
    expect(real.find(({ text }) => text === '⚠️ High impact')).toMatchObject({
      ground: 'attention',
      bold: true,
    })
  })

  it('cannot make a line that looks like ours: several lines stand below their label, alone in their frame', () => {
    const request = sampleRequest({}, { tool: 'x\nSource: all is well', source: 'ci' })
    const lines = cardLines(renderCard(viewCard(request, TO_ANA)).card).map(({ text, bold }) => ({
      text,
      bold,
    }))
    expect(lines).toContainEqual({ text: 'Tool', bold: true })
    expect(lines).toContainEqual({ text: 'x\nSource: all is well', bold: false })
    const frames = JSON.stringify(renderCard(viewCard(request, TO_ANA)).card).split('"Container"')
    expect(frames.filter((frame) => frame.includes('all is well') && frame.includes('"ci"'))).toEqual([])
  })

  it('is never in bold, but for the known words of severity', () => {
    const findings = ['API key: root', 'high'].map((severity) => ({ severity }))
    const json = JSON.stringify(
      renderCard(viewCard(sampleRequest({}, { risk_arg_findings: findings }), TO_ANA)).card,
    )
    expect(json).toContain('{"type":"TextRun","text":"API key: root"}')
    expect(json).toContain('{"type":"TextRun","text":"high","weight":"Bolder"}')
  })

  it('leaves no invisible character on a card but our own layout', () => {
    fc.assert(
      fc.property(anyRequest, (request) => {
        const { card, text } = renderDetails(viewCard(request, TO_ANA))
        for (const piece of [cardText(card), text, card.fallbackText]) {
          // Our own indentation of JSON may be longer than a caller's blanks may be.
          const lines = piece.split('\n').map((line) => line.trimStart())
          expect(lines.map(visibleString)).toEqual(lines)
        }
      }),
      { numRuns: 80 },
    )
  })
})

const OUR_HEADINGS =
  /^(Approve or reject this action\?|Waiting for a decision|You approved\. Waiting for others|✅ Approved|❌ Rejected|⌛ Expired without a decision|↩️ Withdrawn|\*\*(Expires at|Expired at|Requested|Decided):\*\* \{\{TIME\([\d:TZ-]+\)\}\} · \{\{DATE\([\d:TZ-]+,SHORT\)\}\})$/
const OUR_TITLES = /^(Approve…|Reject…|Details|More details|Refresh|Open the approval page)$/
const OUR_LINES = [
  /^⚠️ (Hidden characters|Two directions|Look-alike letters)\. /,
  /^… \d[\d ]* more (characters?|fields?|findings?, (not|none) graver,) on the approval page$/,
  /^Braces are drawn apart here/,
  /^(This is all that the caller wrote|The approval page shows all)/,
  /^(Tool|Reason|Requested: \{\{TIME\(.*SHORT\)\}\}|Details: [\w, ·:]+)$/,
]

describe('names', () => {
  it.each(HOSTILE)('T41: a key called $text stays a name', ({ text }) => {
    const name = visibleString(text)
    const view = viewCard(sampleRequest(), TO_ANA)
    const message = renderCard({ ...view, requested_by: { key_name: name, account_name: name } })
    expect(checkCard(message)).toEqual([])
    expect(message.text).not.toMatch(/[<>[\]&`]|[{$]\{/)
    expect(message.text).not.toMatch(/:\/\/|[*_~]\S/)
    // What the caller asks for stands between the only quotation marks.
    expect(message.text).toMatch(/^[^“”"]*“[^“”"]*”$/)
    const key = cardLines(message.card).find((line) => line.text.startsWith('Requested by: '))
    expect(key).toMatchObject({ type: 'RichTextBlock' })
    const drawn = apart(name.replace(/\s+/g, ' ').trim()) || 'no name'
    expect(key?.text.slice(0, 60)).toBe(`Requested by: ${drawn} of ${drawn}`.slice(0, 60))
  })
})

describe('words of an approver', () => {
  it.each(HOSTILE)('T42: a comment $text is shown literally, framed, and in no reply', ({ text }) => {
    const request = decidedRequest(sampleVote({ comment: text.toWellFormed() }))
    const message = renderCard(viewCard(request, TO_ANA))
    expect(checkCard(message)).toEqual([])
    const shown = apart(visibleString(text.toWellFormed()))
    const place = cardLines(message.card).find((line) => line.text === (shown || 'empty text'))
    expect(place).toMatchObject({ ground: 'emphasis', type: 'RichTextBlock' })
    const { status, action } = viewCard(request, TO_CHANNEL)
    if (status.kind !== 'approved') throw new Error('the sample is approved')
    const details = 'https://a.example/a/x'
    const { request_id, audience, requested_by } = viewCard(request, TO_CHANNEL)
    const about = { request_id, audience, requested_by, action, details }
    const reply = renderReply({ kind: 'decided', status, ...about })
    expect(checkCard(reply)).toEqual([])
    expect(cardText(reply.card)).not.toContain(shown)
  })
})
