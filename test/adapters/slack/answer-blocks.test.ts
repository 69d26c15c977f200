import { describe, expect, it } from 'vitest'
import { OPEN_LINK_ID, renderAnswer } from '../../../adapters/slack/answers.ts'
import { visibleString } from '../../../src/domain/text.ts'
import type { ChatAnswer, PendingRow } from '../../../src/flow/chat/chat-answer.ts'
import { buttonsOf, placedTexts, shownText } from '../../support/block-parts.ts'
import { checkMessage } from '../../support/check-blocks.ts'
import { SLACK_INJECTIONS, SPOOF_CASES } from '../../support/spoof-cases.ts'

const now = new Date('2026-09-14T14:05:00Z')
const drawn = (answer: ChatAnswer) => {
  const message = renderAnswer(answer, { now })
  expect(checkMessage(message)).toEqual([])
  return message
}
const row = (changes: Partial<PendingRow> = {}): PendingRow => ({
  request_id: 'req_7k2m9q4r8s1t6w5x0yzabcdefg',
  action: 'Delete the staging database',
  requested_by: 'deploy-bot',
  high_impact: false,
  expires_at: new Date('2026-09-14T15:05:00Z'),
  url: 'https://approve.example.com/a/req_7k2m9q4r8s1t6w5x0yzabcdefg',
  ...changes,
})
const pending = (rows: PendingRow[], more = 0): ChatAnswer & { kind: 'pending' } => ({
  kind: 'pending',
  rows,
  more,
  open: 'https://approve.example.com/approvals',
})

describe('pending requests', () => {
  it('shows each request with its link, time, key and action', () => {
    const message = drawn(pending([row(), row({ high_impact: true, action: 'Pay 300 EUR' })]))
    const shown = shownText(message.blocks)
    expect(shown).toContain('You have 2 pending requests')
    expect(shown).toContain('Requested by: deploy-bot\nRequested action · written by the caller')
    expect(shown).toContain('Pay 300 EUR')
    expect(shown.match(/High impact/g)).toHaveLength(1)
    expect(JSON.stringify(message.blocks)).toContain(`"url":"${row().url}"`)
    expect(message.text).toBe('You have 2 pending requests')
  })

  it('warns of look-alike letters where the request is chosen', () => {
    const look_alike = '“раураl” mixes Latin and Cyrillic letters, which can look alike.'
    const shown = shownText(drawn(pending([row({ look_alike })])).blocks)
    expect(shown).toContain(`⚠️ Look-alike letters. ${look_alike}\nRequested action`)
  })

  it('says when there is nothing', () => {
    expect(shownText(drawn(pending([])).blocks)).toContain('You have no pending requests')
  })

  it('says how many agents wait for a key, with a link to the inbox', () => {
    const { open } = pending([])
    const alone = drawn({ ...pending([]), agents: 1 })
    expect(shownText(alone.blocks)).toContain(
      '🔑 One agent waits for a key of your accountReview in your inbox',
    )
    expect(alone.text).toBe('One agent waits for a key of your account')
    const beside = drawn({ ...pending([row()]), agents: 3 })
    expect(shownText(beside.blocks)).toContain('You have one pending request')
    expect(shownText(beside.blocks)).toContain('🔑 3 agents wait for a key of your account. Your inbox')
    for (const { blocks } of [alone, beside]) expect(JSON.stringify(blocks)).toContain(`"url":"${open}"`)
    for (const message of [drawn(pending([])), drawn(pending([row()]))])
      expect(shownText(message.blocks)).not.toMatch(/agent/)
  })

  it.each([1, 5, 20, 60, 300])(
    'stays within Slack’s limits with %i long ones, and counts what is missing',
    (count) => {
      const rows = Array.from({ length: count }, () => row({ action: '🧨 x'.repeat(400), high_impact: true }))
      const shown = shownText(drawn({ ...pending(rows, 7), agents: 3 }).blocks)
      expect(shown).toContain('3 agents wait for a key')
      expect(shown).toContain(`You have ${count + 7} pending requests`)
      const numbers = [...shown.matchAll(/(\d+)\. Open the approval page/g)].map(([, number]) =>
        Number(number),
      )
      expect(numbers.length).toBeGreaterThan(0)
      expect(shown).toContain(`… ${count + 7 - numbers.length} more requests, not shown here.`)
      expect(shown).toMatch(/… [\d ]+ more characters on the approval page/)
    },
  )

  it('T41, T44: frames what the caller wrote, and puts it nowhere else', () => {
    for (const text of [...SLACK_INJECTIONS, ...SPOOF_CASES.map((spoof) => visibleString(spoof.text))]) {
      const message = drawn(pending([row({ action: text, requested_by: 'K' })]))
      const needle = text.slice(0, 20)
      for (const placed of placedTexts(message.blocks)) {
        if (!placed.text.includes(needle)) continue
        expect(placed.within).toEqual(['rich_text', 'rich_text_quote', 'text'])
      }
      expect(message.text).toBe('You have one pending request')
      expect(JSON.stringify(message.blocks)).not.toContain('"type":"mrkdwn"')
    }
  })
})

describe('a one-time link', () => {
  const link = (purpose: 'link' | 'browser' | 'channel', expires_at = '2026-09-14T14:15:00Z') =>
    drawn({ kind: 'link', purpose, url: 'https://a.example/link#abc', expires_at: new Date(expires_at) })

  it.each(['link', 'browser', 'channel'] as const)(
    'for %s is a button, with its time and a warning',
    (purpose) => {
      const message = link(purpose)
      const shown = shownText(message.blocks)
      expect(shown).toContain('Works once, for 10 minutes · until ')
      expect(shown).toContain('Never share this link')
      expect(buttonsOf(message.blocks)).toMatchObject([
        { action_id: OPEN_LINK_ID, url: 'https://a.example/link#abc' },
      ])
      expect(message.text).not.toContain('#abc')
    },
  )

  it('counts the minutes that are left', () => {
    expect(shownText(link('link', '2026-09-14T14:08:20Z').blocks)).toContain('for 3 minutes')
    expect(shownText(link('link', '2026-09-14T14:05:20Z').blocks)).toContain('for one minute')
  })
})

describe('help and notices', () => {
  const commands = [
    { usage: 'verify <id or receipt>', does: 'Check an approval.' },
    { usage: 'pending', does: 'List your pending requests.' },
  ]

  it('shows the commands as they are typed in Slack, and who the speaker is', () => {
    const shown = shownText(drawn({ kind: 'help', commands, linked_as: 'Ana (ana@example.com)' }).blocks)
    expect(shown).toContain(
      '/verify <id or receipt> Check an approval.\n/countersign pending List your pending requests',
    )
    expect(shown).toContain('You are Ana (ana@example.com)')
  })

  it('says that a command is unknown, and how to be linked', () => {
    const shown = shownText(drawn({ kind: 'help', unknown: true, commands }).blocks)
    expect(shown).toContain('Countersign does not know this command')
    expect(shown).toContain('You are not linked yet: type /countersign link.')
  })

  it('marks how a notice is meant', () => {
    const notice = (tone: 'done' | 'refused' | 'problem') =>
      drawn({ kind: 'notice', tone, heading: 'Heading', sentence: 'A <sentence> & more.' })
    expect(['done', 'refused', 'problem'].map((tone) => shownText(notice(tone as 'done').blocks))).toEqual([
      '✅ HeadingA <sentence> & more.',
      '⛔ HeadingA <sentence> & more.',
      '⚠️ HeadingA <sentence> & more.',
    ])
    expect(notice('done').text).toBe('Heading. A &lt;sentence&gt; &amp; more.')
  })
})
