import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { visibleString } from '../../../src/domain/text.ts'
import { viewCard } from '../../../src/flow/tell/view-card.ts'
import { anyContext, anyRequest } from '../../support/any-request.ts'
import {
  decidedRequest,
  sampleRequest,
  sampleVote,
  TO_ANA,
  TO_BEN,
  TO_CHANNEL,
} from '../../support/card-samples.ts'
import { SPOOF_CASES } from '../../support/spoof-cases.ts'

const viewOf = (context: object) => viewCard(sampleRequest({}, context), TO_ANA)

describe('rows of a card', () => {
  it('shows the named keys in the order and words of the hosted page, then the others by their own names', () => {
    const view = viewOf({ zeta: 'z', source: 's', tool: 't', reason: 'r', Reason: 'no', agent_purpose: 'p' })
    expect(view.rows).toEqual([
      { label: 'Reason', known: true, text: 'r', code: false },
      { label: 'Purpose of the agent', known: true, text: 'p', code: false },
      { label: 'Tool', known: true, text: 't', code: false },
      { label: 'Source', known: true, text: 's', code: false },
      { label: 'Reason', known: false, text: 'no', code: false },
      { label: 'zeta', known: false, text: 'z', code: false },
    ])
  })

  it('says in our words what the caller says of undoing the action', () => {
    const view = (request: object) => viewCard(sampleRequest(request), TO_CHANNEL)
    expect(view({ reversibility: 'irreversible' }).reversibility).toBe('Cannot be undone')
    expect(view({})).not.toHaveProperty('reversibility')
    expect(view({})).not.toHaveProperty('use_within')
    for (const [use_within_seconds, words] of [
      [90, '90 s'],
      [600, '10 min'],
      [5_400, '90 min'],
      [86_400, '24 h'],
    ] as const)
      expect(view({ use_within_seconds }).use_within).toBe(`Can be used until ${words} after approval`)
  })

  it('says how many files there are and their names, to those who see the context', () => {
    const files = ['plan.txt', 'a\n\u202eb'].map((name) => ({
      name,
      kind: 'file' as const,
      sha256: '',
      bytes: 1,
    }))
    const view = viewCard(sampleRequest({ attachments: files }), TO_ANA)
    expect(view.rows[0]).toEqual({
      label: 'Attachments',
      known: true,
      text: '2, to be read on the page: plan.txt · a[U+000A][U+202E]b',
      code: false,
    })
    expect(view.hidden_characters).toBe(true)
    expect(viewCard(sampleRequest({ attachments: files }), TO_CHANNEL).rows).toEqual([])
  })

  it('has words of its own for every key the interface names, and calls none of them the caller’s', () => {
    const named = ['agent_name', 'agent_purpose', 'tool', 'reason', 'tool_arguments', 'risk_arg_findings']
    const all = Object.fromEntries(
      [...named, 'tool_arguments_fingerprint', 'source'].map((key) => [key, 'x']),
    )
    const { rows } = viewOf(all)
    expect(rows.map(({ label, known }) => [label, known])).toEqual([
      ['Reason', true],
      ['Agent', true],
      ['Purpose of the agent', true],
      ['Tool', true],
      ['Tool arguments', true],
      ['Fingerprint of the arguments', true],
      ['Risk findings', true],
      ['Source', true],
    ])
  })

  it('tells a number from a text, and shows everything but texts as JSON', () => {
    const view = viewOf({ a: 5, b: '5', c: null, d: { e: ['f'] } })
    expect(view.rows.map(({ text, code }) => [text, code])).toEqual([
      ['5', true],
      ['5', false],
      ['null', true],
      ['{\n  "e": [\n    "f"\n  ]\n}', true],
    ])
  })

  it('keeps deep indentation as layout while blanks of the caller are counted', () => {
    const nested = Array.from({ length: 14 }).reduce<unknown>((inner) => [inner], `a${' '.repeat(40)}b`)
    const [row] = viewOf({ nested }).rows
    expect(row?.text).toContain(`${' '.repeat(28)}"a[40 spaces]b"`)
    expect(row?.text).not.toMatch(/\[\d+ spaces\]\[/)
  })

  it('shows a key called __proto__, and names line breaks in keys', () => {
    const request = sampleRequest({ context_json: '{"__proto__":"x","a\\nReason":"y"}' })
    const labels = viewCard(request, TO_ANA).rows.map(({ label }) => label)
    expect(labels).toEqual(['__proto__', 'a[U+000A]Reason'])
  })

  it('lists findings of texts apart, and repeats them in full as a row where they say more', () => {
    const plain = viewOf({ risk_arg_findings: [{ severity: 'high\nDetector: none', snippet: 'x\u202e\ny' }] })
    expect(plain.findings).toEqual([
      { detector: '', severity: 'high[U+000A]Detector: none', snippet: 'x[U+202E]\ny' },
    ])
    expect(plain.rows).toEqual([])
    const more = viewOf({ risk_arg_findings: [{ severity: 'high', rule: 7 }] })
    expect(more.findings).toHaveLength(1)
    expect(more.rows).toEqual([
      { label: 'Risk findings', known: true, code: true, text: expect.stringContaining('"rule": 7') },
    ])
    for (const odd of [[], 'none', [{ severity: 3 }], [{ rule: 1 }], [['high']], { severity: 'high' }]) {
      const view = viewOf({ risk_arg_findings: odd })
      expect(view.findings).toEqual([])
      expect(view.rows).toHaveLength(1)
    }
  })

  it('loses no text and no name of a field', () => {
    fc.assert(
      fc.property(anyContext, (context) => {
        const { rows, findings } = viewOf(context)
        const shown = JSON.stringify([rows, findings])
        const texts = Object.entries(context).flatMap(([, value]) =>
          typeof value === 'string' ? [value] : [],
        )
        for (const text of texts) expect(shown).toContain(JSON.stringify(visibleString(text)))
        const named =
          rows.length + (findings.length > 0 && !rows.some(({ label }) => label === 'Risk findings') ? 1 : 0)
        expect(named).toBe(Object.keys(context).length)
      }),
      { numRuns: 60 },
    )
  })
})

describe('hidden and look-alike characters', () => {
  it.each(SPOOF_CASES)('T43: $name is visible in the action and in the context ($policy)', ({ text }) => {
    const context = JSON.stringify({ note: text, list: [text] })
    const view = viewCard(sampleRequest({ action: text, context_json: context }), TO_ANA)
    const visible = visibleString(text)
    expect(view.action).toBe(visible)
    expect(view.rows.find(({ label }) => label === 'note')?.text).toBe(visible)
    expect(JSON.stringify([view.action, view.rows])).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u2800\u00ad]/)
  })

  it('warns of what the card shows, wherever it hides, and of nothing else', () => {
    const hidden = (context: object) => viewOf(context).hidden_characters
    expect(hidden({ a: 'plain\n\n\ntext' })).toBe(false)
    expect(hidden({ a: { b: ['x\u200by'] } })).toBe(true)
    expect(hidden({ 'ke\u00ady': 1 })).toBe(true)
    const request = sampleRequest({}, { a: 'x\u200by', b: 'p\u0430ypal' })
    expect(viewCard(request, TO_CHANNEL)).toMatchObject({ hidden_characters: false })
    expect(viewCard(request, TO_CHANNEL)).not.toHaveProperty('look_alike')
    expect(viewCard(request, TO_ANA).look_alike).toContain('mixes Latin and Cyrillic letters')
    expect(viewCard({ ...request, status: 'expired' }, TO_ANA).hidden_characters).toBe(false)
    expect(viewOf({ a: 'to \u05d0 4711' })).toMatchObject({ two_directions: true })
    expect(viewOf({ a: 'to 4711' })).not.toHaveProperty('two_directions')
  })

  it('makes names of keys, accounts and people one visible line', () => {
    const request = decidedRequest(sampleVote({ comment: 'no\u202e' }), {
      requested_by: { key_name: 'a\nMethod: Passkey', account_name: 'x\u202ey' },
    })
    const names = new Map([[sampleVote().user_id, 'Ben\n\n\nAccount: root\u2066']])
    const view = viewCard(request, { ...TO_ANA, names })
    expect(view.requested_by).toEqual({ key_name: 'a Method: Passkey', account_name: 'x[U+202E]y' })
    expect(view.status).toMatchObject({
      by_name: 'Ben[3 line breaks]Account: root[U+2066]',
      comment: 'no[U+202E]',
    })
  })
})

describe('the outcome of the request', () => {
  it('knows the six states', () => {
    const kinds = [
      sampleRequest(),
      decidedRequest(),
      decidedRequest(sampleVote({ decision: 'rejected' })),
      sampleRequest({ status: 'expired' }),
      sampleRequest({ status: 'expired', cancelled: true }),
    ].map((request) => viewCard(request, TO_ANA).status.kind)
    expect(kinds).toEqual(['pending', 'approved', 'rejected', 'expired', 'withdrawn'])
  })

  it('tells an approver who decided, how and with what words', () => {
    const request = decidedRequest(sampleVote({ decision: 'rejected', comment: 'Not now.' }))
    expect(viewCard(request, TO_ANA).status).toEqual({
      kind: 'rejected',
      by: '20c4be11f7a59d3e',
      by_name: 'Ben Okafor',
      method: 'passkey',
      at: sampleVote().at,
      comment: 'Not now.',
      decision_id: sampleVote().decision_id,
    })
    expect(viewCard(request, TO_BEN).status).toMatchObject({ by_you: true })
    expect(viewCard(request, { ...TO_ANA, names: new Map() }).status).not.toHaveProperty('by_name')
  })

  it('puts no name under what the sandbox decided', () => {
    const request = decidedRequest(sampleVote({ method: 'sandbox' }), { sandbox: true })
    const { status, sandbox } = viewCard(request, TO_BEN)
    expect(sandbox).toBe(true)
    expect(status).not.toHaveProperty('by_name')
    expect(status).not.toHaveProperty('by_you')
  })

  it('counts different approvers, and knows whose card it is', () => {
    const request = sampleRequest({
      requirement: { ...sampleRequest().requirement, quorum: 2 },
      votes: [sampleVote(), sampleVote({ decision_id: 'dec_other' })],
    })
    expect(viewCard(request, TO_ANA).quorum).toEqual({ approved: 1, needed: 2 })
    expect(viewCard(request, TO_ANA)).not.toHaveProperty('voted')
    expect(viewCard(request, TO_BEN).voted).toBe('approved')
    const delegated = sampleRequest({ votes: [sampleVote({ on_behalf_of: TO_ANA.personId ?? '' })] })
    expect(viewCard(delegated, TO_ANA).voted).toBe('approved')
    expect(viewCard(delegated, TO_CHANNEL)).not.toHaveProperty('voted')
  })

  it('keeps the context out of decided cards', () => {
    for (const request of [decidedRequest(), sampleRequest({ status: 'expired' })]) {
      expect(viewCard(request, TO_ANA)).toMatchObject({ rows: [], findings: [] })
    }
  })

  it('links to the hosted page without any secret', () => {
    expect(viewCard(sampleRequest(), TO_ANA).links).toEqual({
      approve: 'https://approve.example.com/a/req_7k2m9q4r8s1t6w5x0yzabcdefg?d=approve',
      reject: 'https://approve.example.com/a/req_7k2m9q4r8s1t6w5x0yzabcdefg?d=reject',
      details: 'https://approve.example.com/a/req_7k2m9q4r8s1t6w5x0yzabcdefg',
    })
  })
})

describe('a channel', () => {
  it('is told action, requester and status: no context, no comment, no name of a person', () => {
    const request = decidedRequest(sampleVote({ comment: 'The reason quotes the context.' }))
    const view = viewCard(request, TO_CHANNEL)
    expect(view).toMatchObject({ rows: [], findings: [], status: { by: '20c4be11f7a59d3e', comment: null } })
    const said = JSON.stringify([view, viewCard(sampleRequest(), TO_CHANNEL)])
    for (const secret of [
      'Ben Okafor',
      'quotes the context',
      'OPS-4411',
      'DELETE FROM',
      'ops-agent"',
      'rows_affected',
    ])
      expect(said).not.toContain(secret)
    expect(said).toContain('Delete 18 204 invoices')
  })

  it('whose account shows names there is told who decided, and still no comment', () => {
    const request = decidedRequest(sampleVote({ comment: 'The reason quotes the context.' }))
    const named = { ...TO_CHANNEL, names: TO_ANA.names, namesInChannels: true }
    expect(viewCard(request, named).status).toMatchObject({ by_name: 'Ben Okafor', comment: null })
  })
})

describe('a version', () => {
  it('is drawn alike whenever it is drawn, and leaves the request as it was', () => {
    fc.assert(
      fc.property(anyRequest, (request) => {
        const before = structuredClone(request)
        const first = viewCard(request, TO_ANA)
        expect(viewCard(structuredClone(request), TO_ANA)).toEqual(first)
        expect(request).toEqual(before)
      }),
      { numRuns: 50 },
    )
  })
})
