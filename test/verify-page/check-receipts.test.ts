import { describe, expect, it } from 'vitest'
import { bundleLines, checkBundle } from '../../dashboard/verify/check-bundle.ts'
import { checkReceipts, type Report, WEAK_HASH } from '../../dashboard/verify/check-receipts.ts'
import { checkLines, verdictOf } from '../../dashboard/verify/verdict.ts'
import { parsePolicy } from '../../src/signing/log/policy.ts'
import { verifyReceiptJson } from '../../src/signing/verify-node.ts'
import { judgeTogether, splitVotes } from '../../src/signing/votes.ts'
import { DECIDED_AT, livePayload } from '../signing/fixtures.ts'
import { makeBundle } from '../support/bundles.ts'
import { ACTION, answerWith, CONTEXT, keys, live, received, sandbox, vote } from './receipts.ts'

const check = (json: object): Promise<Report> =>
  checkReceipts(splitVotes(received(json)), keys, { now: DECIDED_AT })
const verdict = async (json: object) => verdictOf(await check(json))

const [ana, ben, eve] = ['aaaaaaaaaaaaaaaa', 'bbbbbbbbbbbbbbbb', 'eeeeeeeeeeeeeeee']
const first = vote({ did: 'first', approver: ana })
const second = vote({ did: 'second', approver: ben })
const rejection = vote({ did: 'third', approver: eve, decision: 'rejected' })

/** As the service has an approval of a request that was rejected. */
function unsigned({ signed_payload: _p, signature: _s, public_key_id: _k, ...words }: typeof first) {
  return words
}

function cut({ signature: _gone, ...rest }: typeof first) {
  return rest
}

describe('the verdict', () => {
  it('says who approved and when', async () => {
    expect(await verdict(answerWith(first))).toStrictEqual({
      kind: 'approved',
      heading: 'A genuine approval, unchanged',
      by: `Approved by ${ana}`,
      at: DECIDED_AT.getTime(),
      sentence: 'The receipt is genuine: a person approved this request.',
      cautions: [],
    })
  })

  it('names people to a reader who may know them, and their names as text alone', async () => {
    const nameOf = (reference: string) =>
      new Map([
        [ana, 'Ana\u202e'],
        [eve, 'Eve'],
      ]).get(reference)
    expect(verdictOf(await check(answerWith(first)), nameOf)).toMatchObject({
      heading: 'Ana[U+202E]’s approval, unchanged',
      by: 'Approved by Ana[U+202E]',
    })
    expect(verdictOf(await check(answerWith(rejection)), nameOf).heading).toBe('Eve’s rejection, unchanged')
    expect(verdictOf(await check([first, second]), nameOf).by).toBe(`Approved by Ana[U+202E], ${ben}`)
  })

  it('says who acted when the statement that the nonce opens to names a delegate, and for whom', async () => {
    const acted = vote({ did: 'first', approver: ana, delegate: eve })
    expect((await verdict(answerWith(acted))).by).toBe(`Approved by ${eve} as the delegate of ${ana}`)
    expect((await verdict([acted, second])).by).toBe(`Approved by ${eve} as the delegate of ${ana}, ${ben}`)
    const { intent: _unopened, ...alone } = acted
    expect((await verdict(alone)).by).toBe(`Approved by ${ana}`)
  })

  it('never makes a rejection look like a permission', async () => {
    const said = await verdict(answerWith(rejection))
    expect(said.kind).toBe('rejected')
    expect(said).toMatchObject({ heading: 'A genuine rejection, unchanged', by: `Rejected by ${eve}` })
    expect(said.sentence).toContain('It is not a permission.')
  })

  it('T72: calls a dry-run not valid for production, alone and among votes', async () => {
    const dryRun = vote({ approver: ana }, sandbox)
    for (const json of [
      answerWith(dryRun),
      dryRun,
      [first, vote({ did: 'second', approver: ben }, sandbox)],
    ]) {
      const said = await verdict(json)
      expect(said.kind).toBe('sandbox')
      expect(said.heading).toContain('Not valid for production')
      expect(said.sentence).toContain('No person was asked. Do not act on it.')
      // Whose key asked is in the receipt, and has decided nothing.
      expect(said.by).toBe('Decided by the sandbox, no person')
    }
    const lines = checkLines((await check(dryRun)).main)
    expect(lines.find(({ check }) => check === 'sandbox')).toMatchObject({ state: 'dry-run' })
    // The rule of production verifiers, as the command line and the service have it.
    expect(verifyReceiptJson(dryRun, keys)).toMatchObject({ code: 'receipt_sandbox_refused' })
  })

  it('holds the body of a webhook to the outcome that its type names', async () => {
    const event = { id: 'evt_1', created_at: DECIDED_AT.toISOString(), data: answerWith(first) }
    expect((await verdict({ ...event, type: 'approval.approved' })).kind).toBe('approved')
    const heading = 'Not what was signed: “type” differs'
    expect(await verdict({ ...event, type: 'approval.rejected' })).toMatchObject({ kind: 'invalid', heading })
  })

  it('says the reason of a refusal', async () => {
    const said = await verdict({ ...first, signature: second.signature })
    expect(said).toMatchObject({ kind: 'invalid', heading: 'Not valid: altered or forged' })
    expect(said.sentence).toMatch(/ Do not act on it\.$/)
    expect(said).not.toHaveProperty('at')
  })

  it('T69: says how weak the short hash is, where there is nothing better', async () => {
    const { intent: _gone, ...bare } = first
    const said = await verdict(answerWith(bare))
    expect(said).toMatchObject({
      kind: 'unproven',
      heading: 'A genuine receipt, but its content is not proven',
      by: `Approved by ${ana}`,
    })
    expect((await verdict(answerWith({ ...second, votes: [bare, second] }))).kind).toBe('unproven')
    expect(said.cautions).toEqual([
      WEAK_HASH,
      expect.stringContaining('does not cover the details (context) next to it'),
    ])
    expect((await verdict(first)).cautions).toEqual([])
    expect((await verdict(bare)).cautions).toEqual([expect.stringContaining('the decision, not its text')])
  })

  it('T73: warns of a key that was revoked later', async () => {
    const revokedAt = new Date(DECIDED_AT.getTime() + 60_000)
    const report = await checkReceipts(splitVotes(first), [{ ...live, revokedAt }], {})
    expect(verdictOf(report)).toMatchObject({
      kind: 'approved',
      cautions: [expect.stringContaining(`revoked later, at ${revokedAt.toISOString()}`)],
    })
  })

  it('holds a receipt to the id that was asked for', async () => {
    const receipts = splitVotes(received(first))
    const report = await checkReceipts(receipts, keys, { expected: { rid: 'req_other' } })
    expect(report.main.failed).toBe('expected')
    expect(verdictOf(report).sentence).toContain('not the one expected')
    const right = await checkReceipts(receipts, keys, { expected: { rid: livePayload.rid } })
    expect(checkLines(right.main).map(({ name }) => name)).toContain('The requested receipt')
  })
})

describe('several votes', () => {
  const both = answerWith({ ...second, votes: [first, second] })

  it('are each checked, with action and details, and counted', async () => {
    const report = await check(both)
    expect(report.votes.map(({ result }) => result)).toEqual([
      expect.objectContaining({ valid: true, checked: { action: 'full', context: 'full' } }),
      expect.objectContaining({ valid: true, checked: { action: 'full', context: 'full' } }),
    ])
    expect(verdictOf(report)).toMatchObject({
      kind: 'approved',
      heading: '2 approvals, unchanged',
      by: `Approved by ${ana}, ${ben}`,
      sentence: 'Every vote is genuine: these people approved this request.',
      cautions: [expect.stringContaining('The receipt does not say how many people had to agree')],
    })
  })

  it('are as many as the statement asks for, since its version 2', async () => {
    const [one, two] = [vote({ approver: ana, quorum: 2 }), vote({ did: 'second', approver: ben, quorum: 2 })]
    for (const json of [answerWith({ ...two, votes: [one, two] }), [one, two]])
      expect(await verdict(json)).toMatchObject({ kind: 'approved', cautions: [] })
    for (const [came, json] of [
      [1, answerWith({ ...two, votes: [two] })],
      [1, [one]],
      [0, answerWith({ ...two, votes: [] })],
      [0, { ...two, votes: null }],
      [1, { ...answerWith({ ...two, votes: null }), votes: [two] }],
    ] as const) {
      const said = await verdict(json)
      expect(said.kind).toBe('invalid')
      expect(said.sentence).toContain(
        `The statement requires 2 approvals; only ${came} came with the receipt.`,
      )
    }
    expect((await verdict({ ...two, votes: 'two' })).kind).toBe('invalid')
    // The list beside the decision counts, whatever empty one is inside.
    for (const none of [[], null]) {
      const beside = answerWith({ ...two, votes: none })
      expect((await verdict({ ...beside, votes: [one, two] })).kind).toBe('approved')
      expect((await verdict({ ...beside, votes: [{ ...one, signature: two.signature }, two] })).kind).toBe(
        'invalid',
      )
    }
    // Where one is enough an empty list hides nobody; without a list it is the receipt of one of them.
    for (const json of [{ ...first, votes: [] }, answerWith({ ...first, votes: null })])
      expect(await verdict(json)).toMatchObject({ kind: 'approved', cautions: [] })
    const lone = expect.stringContaining('Only 1 of the 2 approvals that the statement requires is here')
    expect(await verdict(answerWith(two))).toMatchObject({ kind: 'approved', cautions: [lone] })
    const no = vote({ decision: 'rejected', quorum: 2 })
    for (const json of [answerWith({ ...no, votes: [no] }), answerWith(no)])
      expect(await verdict(json)).toMatchObject({ kind: 'rejected', cautions: [] })
  })

  it('are found in a decision alone, in a bare list and in an event', async () => {
    const event = { id: 'evt_', type: 'approval.approved', created_at: '', data: both }
    for (const json of [both.decision, [first, second], event])
      expect((await verdict(json)).heading).toBe('2 approvals, unchanged')
  })

  it('of a bare list count from the newest, wherever it stands; of the same second, from the last', async () => {
    const late = vote({ did: 'second', approver: ben, after: 7 })
    for (const list of [
      [first, late],
      [late, first],
    ])
      expect(await verdict(list)).toMatchObject({ kind: 'approved', at: DECIDED_AT.getTime() + 7000 })
    for (const [list, did] of [
      [[late, first], late.id],
      [[first, second], second.id],
    ] as const) {
      const check = (json: unknown) => verifyReceiptJson(json, keys)
      const { result, shown } = judgeTogether(list, check)
      expect(result).toMatchObject({ valid: true, payload: { did } })
      expect(shown).toMatchObject({ id: did })
    }
  })

  it('of a rejected request may hold approvals that are not signed, which count for nothing', async () => {
    const told = { ...rejection, votes: [unsigned(first), rejection] }
    for (const json of [answerWith(told), told, told.votes]) {
      const report = await check(json)
      expect(report.unsigned).toEqual([{ approver: ana }])
      expect(report.votes).toHaveLength(1)
      const said = verdictOf(report)
      expect(said).toMatchObject({ kind: 'rejected', by: `Rejected by ${eve}` })
      expect(said.sentence).toContain('It is not a permission.')
    }
    const hostile = { ...unsigned(first), approver: '\u202e<b>' }
    expect((await check({ ...rejection, votes: [hostile, rejection] })).unsigned).toEqual([{}])
  })

  it('that say approved without a signature are no receipt, alone and around', async () => {
    for (const json of [unsigned(first), answerWith(unsigned(first)), [unsigned(first)]])
      expect((await verdict(json)).kind).toBe('invalid')
  })

  const elsewhere = vote({ did: 'second', approver: ben, rid: `req_${'0'.repeat(25)}z` })
  it.each<[string, object, string]>([
    [
      'one is forged',
      { ...second, votes: [{ ...first, signature: second.signature }, second] },
      'One of the votes',
    ],
    [
      'one is unsigned',
      { ...second, votes: [{ id: first.id, decision: 'approved' }, second] },
      'One of the votes',
    ],
    ['one of an approved request is unsigned', { ...second, votes: [unsigned(first), second] }, 'not signed'],
    ['one in a list is unsigned', [unsigned(first), second], 'not signed'],
    ['a rejection is unsigned', { ...rejection, votes: [unsigned(rejection), rejection] }, 'is invalid'],
    ['all are unsigned', { ...rejection, votes: [unsigned(first)] }, 'not among the votes'],
    ['an approval lost one part', { ...rejection, votes: [cut(first), rejection] }, 'is invalid'],
    ['a rejected one has a signed approval', { ...rejection, votes: [first, rejection] }, 'is a rejection'],
    ['a list has both outcomes', [first, rejection], 'is a rejection'],
    ['one is no object', { ...second, votes: [second, 'approved'] }, 'One of the votes'],
    ['one is of another request', { ...first, votes: [first, elsewhere] }, 'different requests'],
    ['one is there twice', { ...first, votes: [first, first] }, 'there twice'],
    [
      'one person voted twice',
      { ...first, votes: [first, vote({ did: 'second', approver: ana })] },
      'counted twice',
    ],
    ['the decision is none of them', { ...rejection, votes: [first, second] }, 'not among the votes'],
    ['one rejected what is called approved', { ...first, votes: [first, rejection] }, 'is a rejection'],
    [
      'there are too many unsigned ones',
      { ...rejection, votes: [...Array.from({ length: 100 }, () => unsigned(first)), rejection] },
      'more than 100',
    ],
    ['there are too many', { ...first, votes: Array.from({ length: 101 }, () => first) }, 'more than 100'],
  ])('make it invalid when %s', async (_what, decision, words) => {
    const said = await verdict(decision)
    expect(said.kind).toBe('invalid')
    expect(said.sentence).toContain(words)
  })

  it('are held to the action and the details of the answer around them', async () => {
    const told = answerWith({ ...second, votes: [first, second] })
    expect((await verdict({ ...told, action: `${ACTION}!` })).kind).toBe('invalid')
    const report = await check({ ...told, context: { ...CONTEXT, rows: 4 } })
    expect(report.votes.map(({ failed }) => failed)).toEqual(['context', 'context'])
  })
})

describe('the list of checks', () => {
  it('tells what passed, what failed and what was not looked at any more', async () => {
    const { main } = await check({ ...first, approver: eve })
    const lines = checkLines(main)
    const states = Object.fromEntries(lines.map(({ check, state }) => [check, state]))
    expect(states).toMatchObject({
      signature: 'passed',
      validity: 'passed',
      claims: 'failed',
      intent: 'unmade',
    })
    const failed = lines.filter(({ state }) => state === 'failed')
    expect(failed.map(({ sentence }) => sentence)).toEqual([
      'The field “approver” shown here is not what was signed.',
    ])
    for (const { name, sentence } of lines) expect(name !== '' && sentence !== '').toBe(true)
  })

  it.each([
    [
      'has it',
      { enrolled: {} },
      'passed',
      /^In that tree, the person who decided had registered this passkey before/,
    ],
    ['has none', {}, 'absent', /^Nothing in the file proves that the passkey is the approver’s/],
    ['has another’s', { enrolled: { approver: ana } }, 'failed', /it is of another person\.$/],
    ['needs none', { method: 'totp' }, undefined, /./],
  ] as const)('tells of a bundle whose passkey it is: one that %s', async (_, facts, state, words) => {
    const made = await makeBundle(facts)
    const { bundle } = await checkBundle(made.text, made.keys, { now: DECIDED_AT })
    const line = bundleLines(bundle).find(({ name }) => name === 'Whose passkey')
    expect(line?.state).toBe(state)
    if (line !== undefined) expect(line.sentence).toMatch(words)
    const trusted = { now: DECIDED_AT, policy: await parsePolicy(made.policy) }
    const { sentence } = verdictOf(await checkBundle(made.text, made.keys, trusted))
    expect(sentence.includes('Each approver’s own passkey signed')).toBe(state === 'passed')
  })
})
