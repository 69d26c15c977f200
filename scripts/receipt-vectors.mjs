// Receipts with the verdict that every client must give, signed by the service's own signer with fixed keys, times and salts. Each
// case states its verdict; `scripts/vectors.mjs` fails where the service's own check says otherwise.
import {
  ACTION,
  APPROVERS,
  answer,
  bare,
  base64url,
  CONTEXT,
  canonicalize,
  DECIDED,
  decide,
  expired,
  forms,
  fresh,
  id,
  intentV1,
  intentV2,
  intentV3,
  intentV4,
  iso,
  later,
  live,
  NOW,
  payload,
  receiptOf,
  revoked,
  sandbox,
  sha256,
  unknown,
  young,
} from './receipt-samples.mjs'

const cases = []
const add = (about, receipt, verdict, { expected = {}, keys = 'pinned', code, field, cautions = 0 } = {}) =>
  cases.push({
    about,
    keys,
    expected: { now: NOW, ...expected },
    ...(typeof receipt === 'string' ? { text: receipt } : { receipt }),
    verdict,
    ...(code && { code, ...(field && { field }) }),
    ...(verdict !== 'refused' && { cautions }),
  })
const refuse = (about, receipt, code, field, more = {}) =>
  add(about, receipt, 'refused', { ...more, code, field })

// Valid, in every form, by every version of the statement.
for (const [form, wrap] of Object.entries(forms))
  for (const outcome of ['approved', 'rejected'])
    for (const [version, intent] of [
      ['1', intentV1],
      ['2', intentV2],
      ['3', intentV3],
      ['4', intentV4],
    ])
      for (const method of version === '2' ? ['passkey', 'totp'] : ['passkey'])
        add(
          `${form}, ${outcome} by ${method}, statement of version ${version}`,
          wrap(decide({ decision: outcome, method, intent })),
          outcome,
        )

// Refused in every form that has the part.
const parts = (receipt) =>
  receipt.decision?.signature
    ? receipt.decision
    : (receipt.data?.decision ?? receipt.signed_receipt ?? receipt)
const broken = (wrap, change) => {
  const receipt = structuredClone(wrap(decide()))
  change(parts(receipt))
  return receipt
}
const flip = (text) => (text.startsWith('A') ? 'B' : 'A') + text.slice(1)
for (const [form, wrap] of Object.entries(forms)) {
  const each = (what, change, code, field) => refuse(`${form}: ${what}`, broken(wrap, change), code, field)
  each(
    'another signature',
    (part) => (part.signature = `${flip(part.signature)}`),
    'receipt_signature_invalid',
  )
  each('no key', (part) => delete part.public_key_id, 'receipt_key_missing')
  each('an unknown key', (part) => (part.public_key_id = unknown.kid), 'receipt_key_unknown')
  each(
    'the key of another purpose',
    (part) => (part.public_key_id = sandbox.kid),
    'receipt_signature_invalid',
  )
  if (!['the decision alone', 'a callback', 'the answer to a verify'].includes(form)) continue
  each(
    'a signature of zeros',
    (part) => (part.signature = `${'A'.repeat(86)}==`),
    'receipt_signature_invalid',
  )
  each(
    'a signature without padding',
    (part) => (part.signature = part.signature.slice(0, 86)),
    'receipt_signature_malformed',
  )
  each(
    'a signature in base64url',
    (part) => (part.signature = base64url(Buffer.alloc(64, 255))),
    'receipt_signature_malformed',
  )
  each('a signature with a line break', (part) => (part.signature += '\n'), 'receipt_signature_malformed')
  each(
    'a short signature',
    (part) => (part.signature = Buffer.alloc(63).toString('base64')),
    'receipt_signature_malformed',
  )
  each('a signature that is a number', (part) => (part.signature = 1), 'receipt_signature_malformed')
  each('no signature', (part) => delete part.signature, 'receipt_signature_malformed')
  each('a key id that is null', (part) => (part.public_key_id = null), 'receipt_key_mismatch')
  each(
    'the bytes of another key',
    (part) => (part.public_key = Buffer.from(unknown.publicKey).toString('base64')),
    'receipt_key_mismatch',
  )
  each('a short key', (part) => (part.public_key = 'AAAA'), 'receipt_key_mismatch')
}

// What was signed.
const signs = (about, changes, code, field, more) =>
  refuse(`signed: ${about}`, bare(decide(changes)), code, field, more)
const raw = (about, write, code, field) => signs(about, { raw: write }, code, field)
raw('white space', (said) => `${canonicalize(said)} `, 'receipt_payload_not_canonical')
raw('names in another order', (said) => JSON.stringify({ v: 1, ...said }), 'receipt_payload_not_canonical')
raw(
  'a number written otherwise',
  (said) => canonicalize(said).replace('"v":1', '"v":1.0'),
  'receipt_payload_not_canonical',
)
raw(
  'a name twice',
  (said) => canonicalize(said).replace('"v":1', '"v":1,"v":1'),
  'receipt_payload_not_canonical',
)
raw('a byte order mark', (said) => `\ufeff${canonicalize(said)}`, 'receipt_payload_not_canonical')
raw('bytes that are no UTF-8', () => Buffer.from([0xff]), 'receipt_payload_not_canonical')
raw('no JSON', () => '<html>', 'receipt_payload_not_canonical')
raw('NaN', () => 'NaN', 'receipt_payload_not_canonical')
raw('null', () => 'null', 'receipt_version_unsupported', 'v')
raw('a list', () => '[]', 'receipt_version_unsupported', 'v')
for (const v of [0, 2, true, '1', null])
  signs(`version ${JSON.stringify(v)}`, { v }, 'receipt_version_unsupported', 'v')
for (const [name, value] of [
  ['rid', 'req_1'],
  ['rid', `req_${'u'.repeat(26)}`],
  ['did', payload.rid],
  ['approver', 'AAAAAAAAAAAAAAAA'],
  ['action', sha256(ACTION)],
  ['decision', 'yes'],
  ['method', 'sms'],
  ['method', 'sandbox'],
  ['exp', -1],
  ['exp', 1.5],
  ['exp', '9'],
  ['exp', 2 ** 53],
  ['nonce', ''],
  ['nonce', `${'0'.repeat(31)}\n`],
  ['sandbox', false],
  ['sandbox', true],
  ['admin', true],
])
  signs(
    `${name} ${JSON.stringify(value)}`,
    { [name]: value, intent: {}, ...(name !== 'nonce' && { nonce: '0'.repeat(32) }) },
    'receipt_payload_invalid',
    name === 'method' && value === 'sandbox' ? 'sandbox' : name,
  )
signs('decided after the expiry', { exp: DECIDED - 1 }, 'receipt_time_invalid', 'ts')
signs('decided in the future', {}, 'receipt_from_future', 'ts', { expected: { now: iso(DECIDED - 301) } })
add('signed: decided within the leeway of the clock', bare(decide()), 'approved', {
  expected: { now: iso(DECIDED - 300) },
})

// Keys.
signs('by a key for the sandbox', { by: sandbox }, 'receipt_key_purpose_mismatch')
signs('by a key that had ended', { by: expired }, 'receipt_key_expired', 'ts')
signs('by a key in the second of its revocation', { by: revoked }, 'receipt_key_revoked', 'ts')
signs('by a key that was not valid yet', { by: young }, 'receipt_key_not_yet_valid', 'ts')
signs('by a key that is not in the set', { by: unknown }, 'receipt_key_unknown')
add('signed: by a key that was revoked later', bare(decide({ by: later })), 'approved', { cautions: 1 })
add(
  'signed: the key named by its bytes',
  {
    ...bare(decide()),
    public_key_id: undefined,
    public_key: Buffer.from(live.publicKey).toString('base64'),
  },
  'approved',
)
const dry = decide({ by: sandbox, method: 'sandbox', sandbox: true })
refuse('a dry run', bare(dry), 'receipt_sandbox_refused', 'sandbox')
add('a dry run, where a test allows it', bare(dry), 'approved', { expected: { allow_sandbox: true } })
refuse(
  'a dry run that says it is none',
  { ...bare(dry), sandbox: false },
  'receipt_contradicts_payload',
  'sandbox',
  { expected: { allow_sandbox: true } },
)

// What stands around it.
for (const [name, value] of [
  ['id', id('req', 5)],
  ['status', 'rejected'],
  ['action', `${ACTION}!`],
  ['action', null],
  ['context', { ...CONTEXT, order: '4712' }],
  ['created_at', iso(DECIDED - 61)],
  ['expires_at', iso(payload.exp + 1)],
  ['expires_at', iso(payload.exp).replace('.000Z', 'Z')],
  ['request_id', null],
  ['decision_id', id('dec', 9)],
  ['approver', APPROVERS[1]],
  ['method', 'totp'],
  ['decided_at', payload.ts],
  ['sandbox', true],
  ['high_impact', true],
  ['delegate', APPROVERS[1]],
  ['delegate', null],
  ['audience', 'https://other.example'],
  ['reversibility', 'reversible'],
  ['use_within_seconds', 60],
  ['requester', 'another agent'],
  ['requested_by', { key_name: 'another agent' }],
  ['requested_by', ['support agent']],
  ['type', 'approval.rejected'],
])
  refuse(
    `around: ${name} ${JSON.stringify(value)}`,
    answer(decide(), { [name]: value }),
    'receipt_contradicts_payload',
    name,
  )
for (const [name, value] of [
  ['decided_at', iso(DECIDED)],
  ['requester', 'support agent'],
  ['requested_by', { key_name: 'support agent', key: id('key', 3), mood: 'good' }],
  ['audience', 'https://payments.example'],
  ['use_within_seconds', null],
  ['high_impact', false],
  ['type', 'something.else'],
  ['note', 'whatever stands here is not signed'],
])
  add(`around: ${name} ${JSON.stringify(value)}`, answer(decide(), { [name]: value }), 'approved')
refuse('two contexts', answer(decide(), { metadata: {} }), 'receipt_unreadable')
add('the context by both names', answer(decide(), { metadata: CONTEXT }), 'approved')
refuse(
  'another intent',
  answer({ ...decide(), intent: decide({ intent: intentV3 }).intent }),
  'receipt_intent_mismatch',
  'intent',
)
refuse('an intent that is no text', answer({ ...decide(), intent: {} }), 'receipt_intent_mismatch')
for (const [about, intent] of [
  ['of another type', { ...intentV2, typ: 'human-approval/batch/v1' }],
  ['of version 2 without a quorum', { ...intentV2, quorum: 0 }],
  ['of version 3 without its time', { ...intentV2, typ: intentV3.typ }],
  ['of version 2 with that time', { ...intentV3, typ: intentV2.typ }],
  ['of version 4 without its attachments', { ...intentV2, typ: intentV4.typ }],
  ['of version 2 with attachments', { ...intentV4, typ: intentV2.typ }],
  ['of version 4 with none', { ...intentV4, attachments: [] }],
  [
    'of version 4 with a hash that is none',
    { ...intentV4, attachments: [{ ...intentV4.attachments[0], sha256: 'x' }] },
  ],
  ['about another request', { ...intentV2, rid: id('req', 6) }],
  ['without a salt', { ...intentV2, salt: 1 }],
])
  refuse(`an intent ${about}`, answer(decide({ intent })), 'receipt_intent_mismatch', 'intent')
const { intent: _, ...unstated } = decide()
add('no intent, and an action beside it', answer(unstated), 'unproven')
add('no intent, and nothing beside it', bare(decide()), 'approved')
add('no intent, and an action expected', bare(decide()), 'unproven', { expected: { action: ACTION } })
add('no intent, and an account expected', bare(decide()), 'unproven', {
  expected: { account: id('acc', 4) },
})
add('texts that were erased', answer(unstated, { erased_at: NOW, action: null, context: null }), 'unproven')
add(
  'texts that were erased, with the intent',
  answer(decide(), { erased_at: NOW, action: null, context: null }),
  'approved',
)

// What the caller expects.
const all = {
  request: payload.rid,
  action: ACTION,
  context: CONTEXT,
  audience: 'https://payments.example',
  account: id('acc', 4),
}
add('all that is expected', answer(), 'approved', { expected: all })
for (const [name, value, field] of [
  ['request', id('req', 7), 'rid'],
  ['action', `${ACTION} `],
  ['context', {}],
  ['context', { ...CONTEXT, amount: '19.9' }],
  ['audience', 'https://other.example'],
  ['account', id('acc', 8)],
])
  refuse(
    `expected: another ${name} ${JSON.stringify(value)}`,
    answer(),
    'receipt_unexpected',
    field ?? name,
    { expected: { ...all, [name]: value } },
  )
add('a rejection of all that is expected', answer(decide({ decision: 'rejected' })), 'rejected', {
  expected: all,
})

// What is no receipt.
for (const [about, text] of [
  ['no text', ''],
  ['a page', '<html>'],
  ['null', 'null'],
  ['a number', '1'],
  ['a text', '"x"'],
  ['an empty object', '{}'],
  ['an empty list', '[]'],
  ['an error of the service', '{"error":"not_found","message":"There is none."}'],
  ['a member named twice', JSON.stringify(answer()).replace('{', '{"status":"rejected",')],
  [
    'a member named twice, spelt otherwise',
    JSON.stringify(answer()).replace('{', '{"stat\\u0075s":"approved",'),
  ],
  ['a member named twice inside', JSON.stringify(answer()).replace('"order":', '"order":"1","order":')],
  ['NaN beside it', JSON.stringify(answer()).replace('{', '{"x":NaN,')],
  ['a text after it', `${JSON.stringify(answer())}x`],
])
  refuse(`text: ${about}`, text, 'receipt_unreadable')
add('text: with white space', ` ${JSON.stringify(answer(), null, 2)}\n`, 'approved')
add(
  'text: a number written otherwise',
  JSON.stringify(answer()).replace('"amount":19.9', '"amount":1990e-2'),
  'approved',
)
add(
  'text: a name that other programs treat as their own',
  JSON.stringify(answer()).replace('{', '{"__proto__":{"status":"rejected"},'),
  'approved',
)
refuse('pending', { id: payload.rid, status: 'pending', action: ACTION, context: {} }, 'receipt_not_decided')
refuse('expired', { id: payload.rid, status: 'expired', cancelled: true }, 'receipt_not_decided')
refuse(
  'an answer that calls itself invalid',
  { ...forms['the answer to a verify'](decide()), valid: false },
  'receipt_unreadable',
)
refuse('two payloads', { ...answer(), ...bare(decide({ decision: 'rejected' })) }, 'receipt_unreadable')
refuse('two forms', { ...answer(), signed_receipt: receiptOf(decide()) }, 'receipt_unreadable')
refuse(
  'a payload with padding',
  { ...bare(decide()), signed_payload: `${decide().signed_payload}=` },
  'receipt_payload_malformed',
)
refuse('a payload that is no text', { ...bare(decide()), signed_payload: null }, 'receipt_payload_malformed')
refuse(
  'a payload of 5,000 bytes',
  { ...bare(decide()), signed_payload: base64url('x'.repeat(5000)) },
  'receipt_payload_malformed',
)
refuse(
  'half a character in a payload',
  { ...receiptOf(decide()), canonical_payload: '\ud800' },
  'receipt_payload_malformed',
)
refuse(
  'half a character in the context',
  answer(decide(), { context: { x: '\ud800' } }),
  'receipt_unreadable',
)

// Votes.
const quorum = { ...intentV2, quorum: 2 }
const vote = (n, changes = {}) =>
  decide({ did: id('dec', 10 + n), approver: APPROVERS[n], ts: DECIDED + n, intent: quorum, ...changes })
const voted = (votes, main = vote(1), changes = {}) => answer({ ...main, votes }, changes)
add('two votes of two', voted([vote(0), vote(1)]), 'approved')
add('a bare list of votes', [vote(0), vote(1)], 'approved')
add('votes beside the decision', answer(vote(1), { votes: [vote(0), vote(1)] }), 'approved')
const ofTwo = { ...intentV4, quorum: 2 }
const unopened = { ...ofTwo, attachments: [{ ...intentV4.attachments[0], opened: false }] }
const otherFile = { ...ofTwo, attachments: [{ ...intentV4.attachments[0], sha256: 'a2'.repeat(32) }] }
add(
  'votes of which one did not open what was attached',
  voted([vote(0, { intent: unopened }), vote(1, { intent: ofTwo })], vote(1, { intent: ofTwo })),
  'approved',
)
add(
  'a rejection with an unsigned approval',
  voted(
    [{ decision: 'approved', approver: APPROVERS[0] }, vote(1, { decision: 'rejected' })],
    vote(1, { decision: 'rejected' }),
  ),
  'rejected',
)
add('one of two votes, without the list', answer(vote(1)), 'approved', { cautions: 1 })
add('a vote whose key was revoked later', voted([vote(0, { by: later }), vote(1)]), 'approved', {
  cautions: 1,
})
for (const [about, receipt] of [
  ['one of two votes', voted([vote(1)])],
  ['no vote of two', voted([])],
  ['votes that are null', voted(null)],
  ['votes that are no list', voted('all')],
  ['a vote that is no receipt', voted([vote(0), vote(1), 3])],
  ['a vote twice', voted([vote(1), vote(1)])],
  ['one person twice', voted([vote(0, { approver: APPROVERS[1] }), vote(1)])],
  [
    'one person for themself and as a delegate',
    voted([vote(0, { intent: { ...quorum, delegate: APPROVERS[1] } }), vote(1)]),
  ],
  ['a vote on another request', [vote(1), vote(0, { rid: id('req', 8) })]],
  ['a rejection among approvals', voted([vote(0, { decision: 'rejected' }), vote(1)])],
  ['an unsigned approval of an approved request', voted([vote(1), { decision: 'approved' }])],
  ['a forged vote', voted([{ ...vote(0), signature: flip(vote(0).signature) }, vote(1)])],
  ['a vote on another context', [vote(0, { intent: { ...quorum, context_sha256: sha256('{}') } }), vote(1)]],
  ['a vote for another audience', [vote(0, { intent: { ...quorum, audience: 'x' } }), vote(1)]],
  ['a vote on another file', [vote(0, { intent: otherFile }), vote(1, { intent: ofTwo })]],
  ['a decision that is not among them', voted([vote(0), vote(2)])],
  ['101 votes', answer(vote(1), { votes: Array(101).fill({ decision: 'approved' }) })],
])
  refuse(`votes: ${about}`, receipt, 'receipt_votes_disagree', 'votes')

// Restores of the service's store.
const afterwards = answer(decide({ by: fresh }))
add('restored: signed after the copy, by a key of before', answer(), 'approved', {
  keys: 'restored_later',
  cautions: 1,
})
add('restored: signed well before the copy', answer(), 'approved', { keys: 'copied_later' })
add('restored: the request is newer than the restore', afterwards, 'approved', { keys: 'restored_before' })
add('restored: the request was in the copy', afterwards, 'approved', {
  keys: 'restored_in_between',
  cautions: 1,
})
add('restored: nothing shows when the request was made', bare(decide({ by: fresh })), 'approved', {
  keys: 'restored_in_between',
  cautions: 1,
})

export const receiptVectors = cases.map((one, index) => ({ n: index + 1, ...one }))
