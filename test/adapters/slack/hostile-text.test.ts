import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { renderCard, renderReply } from '../../../adapters/slack/cards.ts'
import { visibleString } from '../../../src/domain/text.ts'
import { viewCard } from '../../../src/flow/tell/view-card.ts'
import { anyRequest } from '../../support/any-request.ts'
import { placedTexts, shownText } from '../../support/block-parts.ts'
import { decidedRequest, sampleRequest, sampleVote, TO_ANA, TO_CHANNEL } from '../../support/card-samples.ts'
import { checkMessage } from '../../support/check-blocks.ts'
import { drawBlocks } from '../../support/draw-blocks.ts'
import { HOSTILE, hostileView } from '../../support/hostile-view.ts'
import { SLACK_INJECTIONS } from '../../support/spoof-cases.ts'

const cardOf = (text: string) => renderCard(hostileView(text))

describe('callers’ text', () => {
  it.each(HOSTILE)('T41, T43: $text is shown literally, in the frame and nowhere else', ({ text }) => {
    const message = cardOf(text)
    expect(checkMessage(message)).toEqual([])
    const visible = visibleString(text)
    const places = placedTexts(message.blocks).filter((placed) => placed.text.includes(visible))
    expect(places.length).toBeGreaterThanOrEqual(4)
    for (const { within } of places) {
      expect(within.slice(0, 1)).toEqual(['rich_text'])
      expect(['rich_text_quote', 'rich_text_preformatted']).toContain(within[1])
      expect(within[2]).toBe('text')
    }
    expect(message.text).toMatch(
      /^⚠️ High impact\. (⚠️ (Hidden characters\. |Two directions\. |Look-alike letters\. )+)?Approve or reject\? ops-agent-prod of Example Ltd asks: “[^“”"<>`]*”( … [\d ]+ more characters?)?$/,
    )
    expect(message.text).not.toMatch(/&(?!amp;|lt;|gt;)|:[a-z_+-]+:|:\/\/|[*_~]\S/)
  })

  it.each(HOSTILE)(
    'T41, T44: an independent renderer makes no link, mention, emoji or bold text of $text',
    ({ text }) => {
      const html = drawBlocks(cardOf(text).blocks, 'light')
      expect(html).not.toMatch(
        /slack_broadcast|slack_user|slack_channel|slack_emoji|slack_usergroup|<script|<img src=x/,
      )
      expect(html.match(/<a /g)).toBeNull()
      // Bold is ours alone: as often as on a card of plain words, plus our own warnings.
      const bold = (page: string) => page.match(/font-semibold/g)?.length ?? 0
      const warnings = html.match(/⚠️ (Hidden characters|Two directions|Look-alike letters)\. /g)?.length ?? 0
      expect(bold(html)).toBe(bold(drawBlocks(cardOf('plain words').blocks, 'light')) + warnings)
    },
  )

  it('T16: says that a text of two directions may stand here in another order than the one that is signed', () => {
    expect(shownText(cardOf('Move EUR \u05d0 4711 → 0815').blocks)).toContain(
      '⚠️ Two directions. Parts of what',
    )
    expect(shownText(cardOf('plain words').blocks)).not.toContain('Two directions')
  })

  it('keeps a fake badge in the frame while ours stands outside', () => {
    const request = sampleRequest(
      { high_impact: false },
      { 'High impact': 'no', Verified: '✅ by Countersign' },
    )
    const placed = placedTexts(renderCard(viewCard(request, TO_ANA)).blocks)
    const fakes = placed.filter(({ text }) => /High impact|Verified|✅/.test(text))
    expect(fakes.map(({ within }) => within[1])).toEqual(Array(fakes.length).fill('rich_text_quote'))
    expect(fakes.length).toBe(3)
    const real = placedTexts(renderCard(viewCard(sampleRequest(), TO_ANA)).blocks)
    expect(real.find(({ text }) => text === '⚠️ High impact')?.within[1]).toBe('rich_text_section')
  })

  it('cannot make a line that looks like ours: what has several lines stands below its label, not beside it', () => {
    const request = sampleRequest({}, { tool: 'x\nReason: all is well' })
    const shown = shownText(renderCard(viewCard(request, TO_ANA)).blocks)
    expect(shown).toContain('\nToolx\nReason: all is well')
    expect(shown).not.toContain('Tool: x')
  })

  it('is never in bold, but for the known words of severity', () => {
    const findings = ['API key: root', 'high'].map((severity) => ({ severity }))
    const { blocks } = renderCard(viewCard(sampleRequest({}, { risk_arg_findings: findings }), TO_ANA))
    const json = JSON.stringify(blocks)
    expect(json).toContain('{"type":"text","text":"API key: root"}')
    expect(json).toContain('{"type":"text","text":"high","style":{"bold":true}}')
  })

  it('is never marked up: no mrkdwn at all, and no emoji in plain text', () => {
    fc.assert(
      fc.property(anyRequest, fc.constantFrom(TO_ANA, TO_CHANNEL), (request, to) => {
        const json = JSON.stringify(renderCard(viewCard(request, to)).blocks)
        expect(json).not.toContain('"type":"mrkdwn"')
        expect(json).not.toContain('"emoji":true')
        expect(json).not.toMatch(/"type":"(emoji|user|channel|usergroup|broadcast)"/)
        const shown = placedTexts(renderCard(viewCard(request, to)).blocks)
        for (const { text, within } of shown) {
          if (within.at(-1) === 'plain_text')
            expect(
              OUR_WORDS.some((ours) => ours.test(text)),
              text,
            ).toBe(true)
        }
      }),
      { numRuns: 80 },
    )
  })

  it('leaves no invisible character on a card, a reply or in a notification', () => {
    fc.assert(
      fc.property(anyRequest, (request) => {
        const view = viewCard(request, TO_ANA)
        const { blocks, text } = renderCard(view)
        for (const piece of [...placedTexts(blocks).map((placed) => placed.text), text]) {
          // Our own indentation of JSON may be longer than a caller's blanks may be.
          const lines = piece.split('\n').map((line) => line.trimStart())
          expect(lines.map(visibleString)).toEqual(lines)
        }
      }),
      { numRuns: 80 },
    )
  })
})

const OUR_WORDS = [
  /^(Approve or reject this action\?|Waiting for a decision|You approved\. Waiting for others)$/,
  /^(✅ Approved|❌ Rejected|⌛ Expired without a decision|↩️ Withdrawn)$/,
  /^(Approve…|Reject…|Details)$/,
  /^(End of the caller’s text|The caller gave no further details\.)$/,
  /^(Nothing is decided in Slack: buttons open the page\. )?req_7k2m9q4r8s1t6w5x0yzabcdefg$/,
]

describe('names', () => {
  it.each(SLACK_INJECTIONS.map((text) => ({ text })))('T41: a key called $text stays a name', ({ text }) => {
    const requested_by = { key_name: text, account_name: text }
    const message = renderCard(viewCard(sampleRequest({ requested_by }), TO_ANA))
    expect(checkMessage(message)).toEqual([])
    expect(message.text).not.toMatch(/[<>]|&(?!amp;|lt;|gt;)/)
    expect(message.text).not.toMatch(/:[a-z_+-]+:|:\/\/|[*_~]\S|`/)
    // What the caller asks for stands between the only quotation marks.
    expect(message.text).toMatch(/^[^“”"]*“[^“”"]*”$/)
    const places = placedTexts(message.blocks).filter((placed) => placed.text === text.replace(/\s+/g, ' '))
    expect(places.map(({ within }) => within)).toEqual([
      ['rich_text', 'rich_text_section', 'text'],
      ['rich_text', 'rich_text_section', 'text'],
    ])
  })

  it('of people end their line, so that their direction cannot reach our words', () => {
    const names = new Map([[sampleVote().user_id, 'דוד']])
    const shown = shownText(renderCard(viewCard(decidedRequest(), { ...TO_ANA, names })).blocks)
    expect(shown).toContain('Decided by: דוד\n')
  })
})

describe('words of an approver', () => {
  it.each(SLACK_INJECTIONS.map((text) => ({ text })))(
    'T41: a comment $text is shown literally, framed',
    ({ text }) => {
      const request = decidedRequest(sampleVote({ comment: text }))
      const message = renderCard(viewCard(request, TO_ANA))
      const place = placedTexts(message.blocks).find((placed) => placed.text === visibleString(text))
      expect(place?.within).toEqual(['rich_text', 'rich_text_quote', 'text'])
      const { status, action, audience, requested_by } = viewCard(request, TO_CHANNEL)
      if (status.kind !== 'approved') throw new Error('the sample is approved')
      const reply = renderReply({
        kind: 'decided',
        status,
        request_id: request.id,
        audience,
        requested_by,
        action,
        details: 'https://a.example/a/x',
      })
      expect(JSON.stringify(reply)).not.toContain(JSON.stringify(text).slice(1, -1))
    },
  )
})
