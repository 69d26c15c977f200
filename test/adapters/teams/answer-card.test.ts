import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { renderAnswer } from '../../../adapters/teams/answers.ts'
import { TEAMS_LIMITS } from '../../../adapters/teams/limits.ts'
import { visibleString } from '../../../src/domain/text.ts'
import type { ChatAnswer, PendingRow } from '../../../src/flow/chat/chat-answer.ts'
import { viewVerdict } from '../../../src/flow/chat/verdict.ts'
import { anyText } from '../../support/any-request.ts'
import { cardLines, cardText } from '../../support/card-lines.ts'
import { checkCard } from '../../support/check-card.ts'
import { HOSTILE } from '../../support/hostile-view.ts'
import { BASE, payload, stored } from '../../support/verdict-samples.ts'

const now = new Date('2026-09-14T13:20:00Z')
const drawn = (answer: ChatAnswer) => renderAnswer(answer, { now })
const COMMANDS = [
  { usage: 'verify <id or receipt>', does: 'Check an approval.' },
  { usage: 'pending', does: 'List your pending requests.' },
]

function row(changes: Partial<PendingRow> = {}): PendingRow {
  return {
    request_id: 'req_x',
    action: 'Delete 18 204 invoices',
    requested_by: 'ops-agent-prod',
    high_impact: false,
    expires_at: new Date('2026-09-14T14:15:00Z'),
    url: `${BASE}/a/req_x`,
    ...changes,
  }
}

describe('help', () => {
  it('lists the commands, and says who one is or how to say so', () => {
    const linked = drawn({ kind: 'help', linked_as: 'Ana Pereira (ana@example.com)', commands: COMMANDS })
    expect(checkCard(linked)).toEqual([])
    expect(cardText(linked.card)).toBe(
      [
        'Countersign in Teams',
        'You are Ana Pereira (ana@example.com)',
        'verify <id or receipt> · Check an approval.',
        'pending · List your pending requests.',
        'In a channel, mention the app before the command.',
        'Nothing is decided in Teams: decisions are made on the approval page.',
      ].join('\n'),
    )
    const stranger = cardText(drawn({ kind: 'help', commands: COMMANDS }).card)
    expect(stranger).toContain('\nYou are not linked yet: write link here.\n')
  })

  it('says when it did not understand', () => {
    const message = drawn({ kind: 'help', unknown: true, commands: COMMANDS })
    expect(cardText(message.card)).toMatch(/^❔ Countersign does not know this command\n/)
    expect(message.text).toBe('Countersign does not know this command. Write “help” to see what there is.')
  })
})

describe('a one-time link', () => {
  it.each(['link', 'browser', 'channel'] as const)(
    'to %s is a button, for whom and how long in words',
    (purpose) => {
      const url = `${BASE}/link#t=secret`
      const expires_at = new Date(now.getTime() + 600_000)
      const message = drawn({ kind: 'link', purpose, url, expires_at })
      expect(checkCard(message)).toEqual([])
      expect(message.card.actions).toMatchObject([{ type: 'Action.OpenUrl', url }])
      const lines = cardLines(message.card)
      expect(lines.find(({ ground }) => ground === 'warning')?.text).toMatch(/^⚠️ For you alone\. Never share/)
      expect(cardText(message.card)).toContain(
        'Works once, for 10 minutes · until {{TIME(2026-09-14T13:30:00Z)}}',
      )
      expect(message.text).toMatch(/: a link for you alone, for 10 minutes\.$/)
      // Notifications and chat lists are read by bystanders.
      expect(message.text + message.card.fallbackText).not.toContain('secret')
    },
  )
})

describe('pending requests', () => {
  it('is a list with a button for each, and one for all', () => {
    const look_alike = '“раураl” mixes Latin and Cyrillic letters, which can look alike.'
    const rows = [row({ high_impact: true, look_alike }), row({ action: '{{DATE(2026-09-14T14:15:00Z)}}' })]
    const message = drawn({ kind: 'pending', rows, more: 1, open: `${BASE}/` })
    expect(checkCard(message)).toEqual([])
    const shown = cardText(message.card)
    expect(shown).toMatch(/^⏳ You have 3 pending requests\nRequest 1 · expires at: /)
    expect(shown).toContain(
      `\n⚠️ High impact\nRequested by: ops-agent-prod\n⚠️ Look-alike letters. ${look_alike}\nRequested action · written by the caller\n`,
    )
    expect(shown).toContain('\n… 1 more request, not shown here.')
    const framed = cardLines(message.card).filter(({ ground }) => ground === 'emphasis')
    expect(framed.map(({ text }) => text)).toEqual([
      'Delete 18 204 invoices',
      '{ {DATE(2026-09-14T14:15:00Z)}}',
    ])
    expect(JSON.stringify(message.card).match(/"title":"[^"]+"/g)).toEqual([
      '"title":"Open request 1"',
      '"title":"Open request 2"',
      '"title":"All pending requests"',
    ])
    expect(message.text).toBe('You have 3 pending requests')
  })

  it('may be nothing', () => {
    const message = drawn({ kind: 'pending', rows: [], more: 0, open: `${BASE}/` })
    expect(checkCard(message)).toEqual([])
    expect(cardText(message.card)).toBe('✅ You have no pending requests')
    expect(message.card.actions).toBeUndefined()
  })

  it('says how many agents wait for a key, with a button to the inbox', () => {
    const open = `${BASE}/`
    const alone = drawn({ kind: 'pending', rows: [], more: 0, agents: 1, open })
    expect(cardText(alone.card)).toBe('🔑 One agent waits for a key of your account')
    expect(alone.text).toBe('One agent waits for a key of your account')
    const beside = drawn({ kind: 'pending', rows: [row({})], more: 0, agents: 2, open })
    expect(cardText(beside.card)).toMatch(/^⏳ You have one pending request\n/)
    expect(cardText(beside.card)).toContain('\n🔑 2 agents wait for a key of your account.')
    const unlisted = drawn({ kind: 'pending', rows: [], more: 2, agents: 1, open })
    expect(cardText(unlisted.card)).toBe(
      '⏳ You have 2 pending requests\n🔑 One agent waits for a key of your account.',
    )
    for (const message of [alone, beside, unlisted]) {
      expect(checkCard(message)).toEqual([])
      expect(message.card.actions).toMatchObject([{ type: 'Action.OpenUrl', url: open }])
    }
  })

  it('is never too large, and counts what it leaves out', () => {
    const anyRow = fc
      .record({ action: anyText(500), requested_by: anyText(80), high_impact: fc.boolean() })
      .map((changes) => row({ ...changes, action: visibleString(changes.action) }))
    fc.assert(
      fc.property(fc.array(anyRow, { minLength: 1, maxLength: 25 }), fc.nat(200), (rows, more) => {
        const message = drawn({ kind: 'pending', rows, more, agents: 3, open: `${BASE}/` })
        expect(checkCard(message)).toEqual([])
        expect(cardText(message.card)).toContain('🔑 3 agents wait for a key of your account.')
        const listed = JSON.stringify(message.card).match(/"title":"Open request \d+"/g)?.length ?? 0
        expect(listed).toBeGreaterThan(0)
        expect(listed).toBeLessThanOrEqual(TEAMS_LIMITS.pendingRows)
        const left = /… ([\d ]+) more requests?, not shown here/.exec(cardText(message.card))?.[1] ?? '0'
        expect(listed + Number(left.replaceAll(' ', ''))).toBe(rows.length + more)
      }),
      { numRuns: 60 },
    )
  })
})

describe('a notice', () => {
  it.each([
    ['done', '✅'],
    ['refused', '⛔'],
    ['problem', '⚠️'],
  ] as const)('that something is %s begins with %s and words', (tone, sign) => {
    const message = drawn({ kind: 'notice', tone, heading: 'So it is', sentence: 'Look again later.' })
    expect(checkCard(message)).toEqual([])
    expect(cardText(message.card)).toBe(`${sign} So it is\nLook again later.`)
    expect(message.text).toBe('So it is. Look again later.')
  })
})

it('draws a verdict like any other', () => {
  const view = viewVerdict(payload.rid, stored(), BASE)
  expect(cardText(drawn({ kind: 'verdict', view, share: false }).card)).toMatch(
    /^✅ Approved\nThe receipt is valid/,
  )
})

it.each(HOSTILE)('T42: shows names and actions such as $text literally', ({ text }) => {
  const visible = visibleString(text)
  const answers: ChatAnswer[] = [
    { kind: 'help', linked_as: visible, commands: COMMANDS },
    { kind: 'pending', rows: [row({ action: visible, requested_by: visible })], more: 0, open: `${BASE}/` },
  ]
  for (const answer of answers) {
    const message = drawn(answer)
    expect(checkCard(message)).toEqual([])
    const markdown = cardLines(message.card).filter(({ type }) => type === 'TextBlock')
    expect(markdown.map((line) => line.text)).toEqual(
      answer.kind === 'help'
        ? ['Countersign in Teams']
        : ['⏳ You have one pending request', expect.stringMatching(/^Request 1 · expires at: \{\{TIME\(/)],
    )
  }
})
