import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packagePath } from '../../src/config/package-path.ts'
import { toJwks } from '../../src/signing/jwks.ts'
import { DECIDED_AT, testKey } from '../signing/fixtures.ts'
import { cli } from '../support/cli.ts'
import { ask, callWithKey, decideByPasskey, type LiveSetting, setUpOwner } from '../support/live.ts'
import { addKey } from '../support/people.ts'
import { startService, type TestService } from '../support/service.ts'
import { answerWith, live as signer, vote } from '../verify-page/receipts.ts'

/** No configuration and no store: a data directory that cannot be made would be noticed. */
const NOWHERE = { DATA_DIR: '/proc/none', MONGODB_URI: 'mongodb://127.0.0.1:1', PORT: 'not a port' }
const ACTION = 'Deploy \u202erelease 4.2'

let service: TestService
let folder: string
let jwks: string
// biome-ignore lint/suspicious/noExplicitAny: bodies as callers get them, cut up freely
let live: any, sandbox: any, callback: any, verdict: any

beforeAll(async () => {
  service = await startService()
  folder = mkdtempSync(join(tmpdir(), 'countersign-verify-'))
  const setting = await setUpOwner(service)
  const said = { audience: 'https://payments.example', reversibility: 'irreversible' }
  const id = await ask(setting, { action: ACTION, callback_url: 'https://receiver.example/hook', ...said })
  await decideByPasskey(setting, id, 'approved', 'fine')
  live = await (await callWithKey(service, setting.key, `/${id}`)).json()
  verdict = await (await fetch(`${service.url}/api/v1/approvals/${id}/verify`)).json()
  callback = JSON.parse((await service.composition.deps.requests.find(id))?.callback?.body ?? '')
  sandbox = await sandboxReceipt(setting)
  jwks = file('jwks.json', await (await fetch(`${service.url}/.well-known/jwks.json`)).text())
})
afterAll(async () => {
  await service.close()
  rmSync(folder, { recursive: true, force: true })
})

async function sandboxReceipt({ owner }: LiveSetting): Promise<unknown> {
  const user = await service.composition.deps.users.find(owner.userId)
  if (user === undefined) throw new Error('no owner')
  const { raw_key } = await addKey(service, user, { sandbox: true })
  const body = { action: 'Try', sandbox_auto_decide_seconds: 0 }
  const made: unknown = await (await callWithKey(service, raw_key, '/request', body)).json()
  return (await callWithKey(service, raw_key, `/${Object(made).request_id}`)).json()
}

function file(name: string, content: string | object): string {
  const path = join(folder, name)
  const asIs = typeof content === 'string' || content instanceof Buffer
  writeFileSync(path, asIs ? content : JSON.stringify(content))
  return path
}

function verify(receipt: string, more: string[] = [], stdin?: string) {
  const options = stdin === undefined ? { env: NOWHERE } : { env: NOWHERE, stdin }
  return cli(['verify', receipt, '--jwks', jwks, ...more], options)
}

/** Checks a receipt of the test's own key, without the service. */
function check(name: string, json: object, more: string[] = [], keys = [signer]) {
  const own = file('own-keys.json', toJwks(keys))
  return cli(['verify', file(name, json), '--jwks', own, ...more], { env: NOWHERE })
}

it('takes the sample of the documents as it is, and not with one letter changed', async () => {
  const sample = readFileSync(packagePath('examples/receipt.json'), 'utf8')
  const keys = ['--jwks', packagePath('examples/jwks.json')]
  const check = (text: string) => cli(['verify', file('sample.json', text), ...keys], { env: NOWHERE })
  expect((await check(sample)).stdout).toMatch(/^VALID: a person approved this\.\n/)
  expect((await check(sample.replace('Deploy release 4.2', 'Deploy release 4.3'))).code).toBe(1)
  expect((await check(sample.replace('"version": "4.2"', '"version": "4.3"'))).code).toBe(1)
})

/** The comment of every receipt of the service here. */
const COMMENT = { unsigned_fields: ['comment'] }

describe('countersign verify', () => {
  it('confirms a receipt in every form the service gives it out', async () => {
    const none = { action: 'none', context: 'none' }
    const [type, created_at] = ['approval.approved', live.decision.decided_at]
    const event = { id: `evt_${'0'.repeat(26)}`, type, created_at }
    const stated = {
      requester: JSON.parse(live.decision.intent).requester,
      quorum: 1,
      policy_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      audience: 'https://payments.example',
      reversibility: 'irreversible',
    }
    const forms = [
      [live, { action: 'full', context: 'full' }, { ...stated, ...COMMENT }],
      [live.decision, none, { ...stated, ...COMMENT }],
      [[live.decision], none, { ...stated, ...COMMENT, votes: [expect.objectContaining({ checked: none })] }],
      [callback, none, COMMENT],
      [{ ...callback, keys: [] }, none, { unsigned_fields: ['keys', 'comment'] }],
      [{ ...event, data: callback }, none, COMMENT],
      [callback.signed_receipt, none, COMMENT],
      [verdict, none, { unsigned_fields: ['verified_at'] }],
    ] as const
    for (const [index, [form, checked, said]] of forms.entries()) {
      const run = await verify(file(`form-${index}.json`, form), ['--json'])
      expect([index, run.code, run.stderr]).toEqual([index, 0, ''])
      expect(run.json()).toEqual({
        valid: true,
        sandbox: false,
        kid: live.decision.public_key_id,
        payload: verdict.payload,
        checked,
        ...said,
      })
    }
    const words = await verify(file('event.json', { ...event, data: live }))
    expect([words.code, words.stdout]).toEqual([0, expect.stringContaining('exactly as approved')])
    // Beside the answer anything could stand that is taken for what was approved.
    const more = await verify(file('more.json', { ...event, data: live, action: 'Pay' }), ['--json'])
    expect([more.code, more.json()]).toMatchObject([1, { error: 'receipt_unreadable' }])
    for (const data of [live, callback]) {
      const lie = await verify(file('lie.json', { ...event, type: 'approval.rejected', data }), ['--json'])
      expect(lie.json()).toMatchObject({ error: 'receipt_contradicts_payload', field: 'type' })
    }
    for (const list of [[], [5], [live.decision, live.decision]])
      expect((await verify(file('list.json', list))).code).toBe(1)
  })

  it('says in words what was signed, with hidden characters named', async () => {
    const run = await verify(file('live.json', live))
    expect(run.code).toBe(0)
    expect(run.stdout).toMatch(/^VALID: a person approved this\.\n/)
    expect(run.stdout).toContain(`Request        ${live.id}\n`)
    expect(run.stdout).toContain('Decision       approved, confirmed with a passkey\n')
    expect(run.stdout).toContain('Action         Deploy [U+202E]release 4.2 (exactly as approved)\n')
    expect(run.stdout).toContain('Context        exactly as approved\n')
    expect(run.stdout).toMatch(/Caller {9}test key \(key_[0-9a-z]{26} of acc_[0-9a-z]{26}\)\n/)
    expect(run.stdout).toContain('Needed         one approval\n')
    expect(run.stdout).toContain('Meant for      https://payments.example\n')
    expect(run.stdout).toContain('Reversibility  irreversible (says the caller)\n')
    expect(run.stdout).not.toContain('\u202e')
    expect(run.stdout).toMatch(/\nAll of the above is signed\. Not signed, and not checked: "comment"\.\n$/)
  })

  it('holds what is said of audience, caller and reversibility to the statement, or calls it not signed', async () => {
    const { requester } = JSON.parse(live.decision.intent)
    for (const [field, lie, truth] of [
      ['audience', 'casino', 'https://payments.example'],
      ['reversibility', 'reversible', 'irreversible'],
      ['high_impact', true, false],
      ['requested_by', { key_name: 'billing' }, { key_name: requester.name }],
      ['metadata', { other: 1 }, live.context],
    ] as const) {
      const refused = await verify(file('lie.json', { ...live, [field]: lie }), ['--json'])
      const error = field === 'metadata' ? 'receipt_unreadable' : 'receipt_contradicts_payload'
      expect([field, refused.code, refused.json().error]).toEqual([field, 1, error])
      const held = await verify(file('truth.json', { ...live, [field]: truth }))
      expect([field, held.code]).toEqual([field, 0])
      expect(held.stdout).toMatch(/ is signed\. Not signed, and not checked: "comment"\.\n$/)
    }
    // Without a statement nothing can be compared, so none of it may look checked.
    const said = { audience: 'casino', requested_by: 'Grace', 'x\u202e"\n  Approver': 1 }
    const bare = await verify(file('beside.json', { ...callback, ...said }))
    expect(bare.code).toBe(0)
    expect(bare.stdout).not.toMatch(/casino|Grace|\u202e|\n {2}Approver"/)
    expect(bare.stdout).toContain(
      'Not signed, and not checked: "audience", "requested_by", "x[U+202E]\\" Approver", "comment".\n',
    )
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`${n}`.padStart(90, 'x'), n]))
    const long = await verify(file('many.json', { ...callback, ...many }))
    expect(long.stdout).toMatch(/ and 293 more\.\n$/)
    expect(long.stdout.length).toBeLessThan(1_500)
  })

  it('T16: refuses other arguments than the approved ones, and says when it could not compare them', async () => {
    const other = { ...live, context: { tool_arguments: { version: '9.9' } } }
    const refused = await verify(file('other.json', other))
    expect(refused.code).toBe(1)
    expect(refused.stdout).toContain('(receipt_contradicts_payload, field context)')
    const { intent: _gone, ...decision } = live.decision
    const bare = await verify(file('bare.json', { ...other, decision }))
    expect([bare.code, bare.stdout]).toEqual([3, expect.stringContaining('Context        NOT CHECKED: ')])
  })

  it('calls nothing valid whose action or context it could not check', async () => {
    const { intent: _gone, ...decision } = live.decision
    const { action: _action, context, ...nameless } = live
    const forms = [
      { ...live, decision },
      { ...live, context: { other: 1 }, decision },
      { ...nameless, context, decision },
      { ...callback, action: 'Something else' },
      { ...callback, context },
      { ...live.decision, intent: undefined, action: ACTION },
    ]
    for (const [index, form] of forms.entries()) {
      const path = file(`unproven-${index}.json`, form)
      const run = await verify(path, ['--json'])
      expect([index, run.code, run.error()]).toMatchObject([index, 3, { error: 'receipt_content_unproven' }])
      expect(run.json()).toMatchObject({
        valid: false,
        receipt_valid: true,
        error: 'receipt_content_unproven',
        payload: verdict.payload,
        checked: { context: 'none' },
      })
      expect((await verify(path)).stdout).toMatch(/^RECEIPT VALID, CONTENT NOT PROVEN: /)
    }
  })

  it('holds a receipt to the request, action and context that its reader expects', async () => {
    const [whole, bare] = [file('whole.json', live), file('receipt.json', callback)]
    const { intent: _gone, ...decision } = live.decision
    const stripped = file('stripped.json', { ...live, decision })
    const context = JSON.stringify(live.context)
    const accountId = JSON.parse(live.decision.intent).requester.account
    const unproven = { valid: false, receipt_valid: true, error: 'receipt_content_unproven' }
    const good: [path: string, code: number, options: string[]][] = [
      [whole, 0, ['--expect-request', live.id, '--expect-action', ACTION, '--expect-context', context]],
      [whole, 0, ['--expect-context', `@${file('context.json', live.context)}`]],
      [whole, 0, ['--expect-audience', 'https://payments.example', '--expect-account', accountId]],
      [bare, 0, ['--expect-request', live.id]],
      [bare, 3, ['--expect-audience', 'https://payments.example']],
      [stripped, 3, ['--expect-account', accountId]],
      [bare, 3, ['--expect-action', ACTION]],
      [bare, 3, ['--expect-context', context]],
      [bare, 3, ['--expect-request', live.id, '--expect-action', ACTION]],
      [stripped, 3, ['--expect-action', ACTION]],
      [stripped, 3, ['--expect-context', context]],
      [whole, 2, ['--expect-context', '[1]']],
      [whole, 2, ['--expect-context', 'no JSON']],
    ]
    for (const [path, code, options] of good) {
      const run = await verify(path, [...options, '--json'])
      expect([options, run.code]).toEqual([options, code])
      if (code === 3) expect([options, run.json()]).toMatchObject([options, unproven])
    }
    for (const [path, options, field] of [
      [whole, ['--expect-request', `req_${'0'.repeat(26)}`], 'rid'],
      [whole, ['--expect-action', `${ACTION} `], 'action'],
      [bare, ['--expect-action', `${ACTION} `], 'action'],
      [whole, ['--expect-context', '{"other":1}'], 'context'],
      [whole, ['--expect-audience', 'https://elsewhere.example'], 'audience'],
      [whole, ['--expect-account', `acc_${'0'.repeat(26)}`], 'account'],
    ] as const) {
      const run = await verify(path, [...options, '--json'])
      expect([run.code, run.json()]).toMatchObject([1, { valid: false, error: 'receipt_unexpected', field }])
    }
  })

  it('refuses another time of asking than the statement has', async () => {
    const said = { ...answerWith(vote()), created_at: '2026-06-01T11:59:00.000Z' }
    expect((await check('asked.json', said)).code).toBe(0)
    const later = { ...said, created_at: '2031-01-01T00:00:00.000Z' }
    const moved = await check('asked.json', later, ['--json'])
    const error = 'receipt_contradicts_payload'
    expect([moved.code, moved.json()]).toMatchObject([1, { valid: false, error, field: 'created_at' }])
  })

  it('says that nothing is decided yet', async () => {
    const run = await verify(file('pending.json', { id: live.id, status: 'pending', action: 'x' }))
    const words = expect.stringContaining('NOT VALID (receipt_not_decided): This request is not decided')
    expect([run.code, run.stdout]).toEqual([1, words])
  })

  it('shows no action text that was not compared with the signed hash', async () => {
    const lie = { ...callback, action: 'Something else', decision: callback.decision }
    const run = await verify(file('lie.json', lie))
    expect(run.stdout).not.toContain('Something else')
    expect(run.stdout).toMatch(/Action +hash [0-9a-f]{16}\n/)
  })

  it('checks every vote next to a decision, and that they belong together', async () => {
    const [ana, ben] = [vote({ approver: 'a'.repeat(16) }), vote({ did: 'second', approver: 'b'.repeat(16) })]
    const whole = answerWith({ ...ben, votes: [ana, ben] })
    const said = await check('votes.json', whole)
    expect([said.code, said.stderr]).toEqual([0, ''])
    expect(said.stdout).toMatch(/^VALID: 2 people approved this\.\n/)
    expect(said.stdout).toContain('Decision       approved, the last vote confirmed with a passkey\n')
    const how = 'at 2026-06-01T12:00:00Z, confirmed with a passkey\n'
    expect(said.stdout).toContain(`Vote           approved by ${'a'.repeat(16)} ${how}`)
    expect(said.stdout).toContain(`Vote           approved by ${'b'.repeat(16)} ${how}`)
    expect((await check('votes.json', whole, ['--json'])).json().votes).toEqual([
      expect.objectContaining({ kid: signer.kid, checked: { action: 'full', context: 'full' } }),
      expect.objectContaining({ payload: expect.objectContaining({ did: ben.id }) }),
    ])
    const lone = await check('one-of-two.json', answerWith(vote({ quorum: 2 })))
    const caution = 'Only 1 of the 2 approvals that the statement requires is here'
    expect([lone.code, lone.stdout]).toEqual([0, expect.stringContaining(`\nCAUTION: ${caution}`)])
    for (const [votes, words] of [
      [[{ ...ana, signature: ben.signature }, ben], 'One of the votes is invalid.'],
      [[ben, vote({ did: 'third', approver: ben.approver })], 'One person is counted twice.'],
      [[ben, vote({ did: 'third', delegate: ben.approver })], 'One person is counted twice.'],
      [[ana], 'The decision is not among the votes.'],
    ] as const) {
      const refused = await check('bad-votes.json', answerWith({ ...ben, votes }))
      expect(refused.code).toBe(1)
      expect(refused.stdout).toContain(`NOT VALID (receipt_votes_disagree, field votes): `)
      expect(refused.stdout).toContain(words)
    }
  })

  it('T73: warns of a revoked key of the decision or of any vote, in words and as data', async () => {
    const revoked = { ...testKey('decision', 3), revokedAt: new Date(DECIDED_AT.getTime() + 60_000) }
    const ana = vote({ quorum: 2 }, revoked)
    const ben = vote({ did: 'second', approver: 'b'.repeat(16), quorum: 2 })
    const at = { key_revoked_at: revoked.revokedAt.toISOString() }
    for (const [json, said, whose] of [
      [answerWith({ ...ben, votes: [ana, ben] }), { votes: [at, {}] }, 'The key of one vote'],
      [[ben, ana], { ...at, votes: [{}, at] }, 'The key'],
      [answerWith(ana), at, 'Only 1 of the 2 approvals'],
    ] as const) {
      const told = await check('revoked.json', json, ['--json'], [signer, revoked])
      expect(told.json()).toMatchObject({ valid: true, ...said, caution: expect.stringContaining(whose) })
      expect(told.json().caution).toContain(`was revoked later, at ${at.key_revoked_at}. A thief could`)
      const words = await check('revoked.json', json, [], [signer, revoked])
      expect(words.stdout).toContain(`\nCAUTION: ${whose}`)
    }
  })

  it('names the delegate who acted, who is in the statement and not in the payload', async () => {
    const delegate = 'd'.repeat(16)
    const [ana, ben] = [vote({ delegate }), vote({ did: 'second', approver: 'b'.repeat(16) })]
    const whole = answerWith({ ...ana, votes: [ana, ben] })
    const said = await check('delegated.json', whole)
    expect([said.code, said.stderr]).toEqual([0, ''])
    expect(said.stdout).toContain(
      `  Delegate       ${delegate} (acted for the approver; reference, not a name)\n`,
    )
    expect(said.stdout).toContain(`  Vote           approved by ${delegate} for ${'a'.repeat(16)} at `)
    expect(said.stdout).toContain(`  Vote           approved by ${'b'.repeat(16)} at `)
    const { delegate: acted, votes } = (await check('delegated.json', whole, ['--json'])).json()
    expect([acted, votes[0].delegate, 'delegate' in votes[1]]).toEqual([delegate, delegate, false])
    const { intent: _gone, ...bare } = ana
    const without = await check('bare.json', answerWith(bare))
    expect(without.stdout).not.toContain('Delegate')
  })

  it('names the approvals of a rejected request as not signed, and takes none for a receipt', async () => {
    const { signed_payload, signature, public_key_id, ...ana } = vote({ approver: 'a'.repeat(16) })
    const ben = vote({ did: 'second', approver: 'b'.repeat(16), decision: 'rejected' })
    const whole = answerWith({ ...ben, votes: [ana, ben] })
    const said = await check('rejected-votes.json', whole)
    expect([said.code, said.stderr]).toEqual([4, ''])
    expect(said.stdout).toMatch(/^VALID: a person rejected this\.\n/)
    expect(said.stdout).toMatch(
      /\n {2}Action {9}.+ \(exactly as rejected\)\n {2}Context {8}exactly as rejected\n/,
    )
    expect(said.stdout).toContain(
      `Vote           approved by ${ana.approver}; not signed: the request was rejected, and nothing proves this vote\n`,
    )
    expect((await check('rejected-votes.json', whole, ['--json'])).json()).toMatchObject({
      valid: true,
      payload: { decision: 'rejected' },
      votes: [{ payload: { did: ben.id } }],
      unsigned_votes: [{ approver: ana.approver }],
    })
    const alone = await check('unsigned-vote.json', answerWith(ana))
    expect([alone.code, alone.stdout]).toEqual([1, expect.stringContaining('(receipt_payload_malformed)')])
    const signed = { ...ana, signed_payload, signature, public_key_id }
    const both = await check('both-outcomes.json', answerWith({ ...ben, votes: [signed, ben] }))
    expect([both.code, both.stdout]).toEqual([1, expect.stringContaining('One of the votes is a rejection')])
  })

  it('reads the receipt from stdin', async () => {
    const run = await verify('-', ['--json'], JSON.stringify(live.decision))
    expect([run.code, run.json().valid]).toEqual([0, true])
  })

  it('refuses sandbox receipts unless they are asked for', async () => {
    const path = file('sandbox.json', sandbox)
    const refused = await verify(path, ['--json'])
    expect(refused.code).toBe(1)
    expect(refused.json()).toMatchObject({ valid: false, error: 'receipt_sandbox_refused', field: 'sandbox' })
    expect(refused.error()).toEqual({
      error: 'receipt_sandbox_refused',
      message: 'This is a sandbox receipt: no person decided; allow sandbox receipts only in tests.',
    })
    const allowed = await verify(path, ['--allow-sandbox'])
    expect(allowed.code).toBe(0)
    expect(allowed.stdout).toMatch(/^VALID SANDBOX RECEIPT: a test approved this; no person was asked\.\n/)
    expect(allowed.stdout).toContain('Action         Try (exactly as in the dry run)\n')
    expect(allowed.stdout).not.toMatch(/Approver|exactly as approved/)
  })

  it.each([
    ['another action', () => ({ ...live, action: 'Deploy release 4.3' }), 'receipt_contradicts_payload'],
    ['the other outcome', () => ({ ...callback, decision: 'rejected' }), 'receipt_contradicts_payload'],
    [
      'a changed signature',
      () => ({ ...live.decision, signature: `${'A'.repeat(86)}==` }),
      'receipt_signature_invalid',
    ],
    [
      'a changed payload',
      () => ({
        ...callback.signed_receipt,
        canonical_payload: callback.signed_receipt.canonical_payload.replace('approved', 'rejected'),
      }),
      'receipt_signature_invalid',
    ],
    ['an unknown key', () => ({ ...live.decision, public_key_id: 'x'.repeat(43) }), 'receipt_key_unknown'],
    ['no receipt', () => ({ hello: 'world' }), 'receipt_unreadable'],
    ['no JSON', () => 'hello', 'receipt_unreadable'],
    [
      'a member named twice',
      () => JSON.stringify(live).replace('{', '{"action":"Other",'),
      'receipt_unreadable',
    ],
  ])('refuses %s with exit code 1', async (_what, tampered, code) => {
    const run = await verify(file('tampered.json', tampered()))
    expect(run.code).toBe(1)
    expect(run.stdout).toMatch(new RegExp(`^NOT VALID \\(${code}[,)]`))
  })

  it('says nothing about a receipt when it cannot read it or the keys: exit code 2', async () => {
    const missing = await verify(join(folder, 'missing.json'), ['--json'])
    expect([missing.code, missing.stdout]).toEqual([2, ''])
    expect(missing.error()).toMatchObject({
      error: 'usage',
      message: expect.stringContaining('missing.json cannot be read: there is no such file'),
    })
    const path = file('large.json', ' '.repeat(1_100_000))
    const large = await verify(path, ['--json'])
    expect([large.code, large.error().message]).toEqual([2, `${path} is larger than 1 MiB.`])
    const text = JSON.stringify({ ...live, note: '\u00ff' })
    const latin = await verify(file('latin.json', Buffer.from(text, 'latin1')), ['--json'])
    expect([latin.code, latin.error().message]).toEqual([2, expect.stringContaining('is not UTF-8 text.')])
    expect(await verify(file('marked.json', `\ufeff${text}`))).toMatchObject({ code: 0 })
    const receipt = file('live.json', live)
    const noKeys = await cli(['verify', receipt, '--jwks', receipt, '--json'], { env: NOWHERE })
    expect(noKeys.code).toBe(2)
    expect(noKeys.error().message).toContain('a key set is an object with an array "keys"')
  })
})
