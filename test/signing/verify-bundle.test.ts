import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Bundle } from '../../src/domain/bundle.ts'
import { canonicalize } from '../../src/signing/canonical.ts'
import { verifySignature } from '../../src/signing/ed25519-node.ts'
import { parsePolicy } from '../../src/signing/log/policy.ts'
import { usualClientData } from '../../src/signing/passkey-assertion.ts'
import { type BundleOptions, type BundleVerdict, verifyBundle } from '../../src/signing/verify-bundle.ts'
import { type BundleFacts, type MadeBundle, makeBundle, passkeyOf } from '../support/bundles.ts'
import { size } from '../support/size.ts'
import { testKey } from './fixtures.ts'

let made: MadeBundle
/** With client data in full, and the registration of the passkey. */
let odd: MadeBundle
beforeAll(async () => {
  made = await makeBundle()
  odd = await makeBundle({ odd: true, enrolled: {} })
})

const DELEGATE = '0d0d0d0d0d0d0d0d'

interface Tried extends MadeBundle {
  options?: BundleOptions
  /** On the platform of browsers, instead of this one. */
  web?: boolean
}

async function judge({ text, keys, policy, options, web }: Tried): Promise<BundleVerdict> {
  const trust = { keys, policy: policy === '' ? undefined : await parsePolicy(policy) }
  return verifyBundle(text, trust, options, web ? undefined : verifySignature)
}

/** A bundle with something in it exchanged, as RFC 8785 text. */
const altered = (change: (bundle: Bundle) => object, of = made): MadeBundle => ({
  ...of,
  text: canonicalize(JSON.parse(JSON.stringify({ ...of.bundle, ...change(of.bundle) }))),
})

const ALL = [
  ...['shape', 'receipt', 'intent', 'context', 'expected', 'challenge', 'origin', 'rp_id'],
  ...['presence', 'assertion', 'votes', 'inclusion', 'enrolment', 'checkpoint', 'witnesses'],
]

describe('a good bundle', () => {
  it.each([true, false])('passes every check, in order (as browsers do: %s)', async (web) => {
    const options = { service: 'https://approvals.example.com', enrolment: true }
    const found = await judge({ ...odd, options, web })
    expect(found.checks.map(({ check }) => check)).toEqual(ALL)
    expect(new Set(found.checks.map(({ outcome }) => outcome))).toEqual(new Set(['passed']))
    expect(found).toMatchObject({
      verdict: 'good',
      votes: [{ proof: 'passkey', receipt: { payload: { decision: 'approved' } } }],
      log: { index: 333_333, size: 1_000_000, witnesses: [{ name: 'witness-1.example.org' }] },
    })
  })

  it('has at most 3.0 kB at a million leaves with one witness, and a context as contexts are', () => {
    expect(made.bundle.context?.length).toBeGreaterThan(190)
    expect(Buffer.byteLength(made.text)).toBeLessThanOrEqual(3_000)
  })

  it('has the client data in full where a browser writes more, or older clients kept them', async () => {
    expect((await judge(odd)).verdict).toBe('good')
    expect(odd.text).toContain('other_keys_can_be_added_here')
    expect(made.text).not.toContain('client_data')
    const challenge = createHash('sha256').update(made.bundle.intent).digest()
    const client_data = usualClientData({ challenge, origin: 'https://approvals.example.com' })
    const whole = altered(({ passkey }) => ({ passkey: { ...passkey, client_data } }))
    expect((await judge(whole)).verdict).toBe('good')
  })

  it.each([1, 2, 3, 5, 256, 257])('is in a log of %i leaves', async (leaves) => {
    expect((await judge(await makeBundle({ leaves, witnesses: 0 }))).verdict).toBe('good')
  })

  it('has the registration by the delegate who acted', async () => {
    const acted = await makeBundle({ delegate: DELEGATE, enrolled: { approver: DELEGATE } })
    expect((await judge({ ...acted, options: { enrolment: true } })).verdict).toBe('good')
  })

  it('may have a code in place of a passkey, which rests on the service alone', async () => {
    const { verdict, votes } = await judge(await makeBundle({ method: 'totp' }))
    expect([verdict, votes[0]?.proof]).toEqual(['good', 'service'])
  })
})

describe('less than the policy asks for', () => {
  const cases: [string, BundleFacts, (made: MadeBundle) => string, string][] = [
    ['no log', { leaves: 0 }, ({ policy }) => policy, 'inclusion'],
    ['a log that is not trusted', {}, ({ policy }) => policy.replace(/^log .*\n/, ''), 'checkpoint'],
    ['a witness less', { witnesses: 0 }, () => made.policy, 'witnesses'],
    ['no registration', {}, ({ policy }) => policy, 'enrolment'],
    ['a code, which nobody registers', { method: 'totp' }, ({ policy }) => policy, 'enrolment'],
    ['a registration in a log that nobody trusts', { enrolled: {} }, () => '', 'checkpoint'],
  ]
  it.each(cases)('is good but not enough: %s', async (_, facts, policyOf, check) => {
    const mine = await makeBundle(facts)
    const policy = policyOf(mine)
    const enrolment = check === 'enrolment' || policy === ''
    const found = await judge({ ...mine, policy, options: { enrolment } })
    expect(found).toMatchObject({ verdict: 'unmet', message: expect.stringMatching(/^[A-Z].*\.$/) })
    expect(found.checks.filter(({ outcome }) => outcome === 'unmet')).toEqual([{ check, outcome: 'unmet' }])
    const alone = await judge({ ...mine, policy: '' })
    expect(alone.verdict).toBe('good')
    // Whoever passes a bundle on could have made the tree.
    const isIn = mine.bundle.log !== undefined
    expect(alone.checks.some((one) => one.check === 'checkpoint' && one.outcome === 'absent')).toBe(isIn)
  })
})

describe('a bad bundle', () => {
  const flip = (text: string, at = 10) =>
    `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`
  const passkey = (change: (now: NonNullable<Bundle['passkey']>) => object) => (bundle: Bundle) => ({
    passkey: { ...bundle.passkey, ...(bundle.passkey && change(bundle.passkey)) },
  })
  const clientData = (from: string | RegExp, to: string) =>
    passkey(({ client_data = '' }) => ({ client_data: client_data.replace(from, to) }))
  const log = (change: (now: NonNullable<Bundle['log']>) => object) => (bundle: Bundle) => ({
    log: { ...bundle.log, ...(bundle.log && change(bundle.log)) },
    enrolment: undefined,
  })
  const cases: [string, (bundle: Bundle) => object, string][] = [
    ['a member more', () => ({ comment: 'x' }), 'shape'],
    ['a member more inside', passkey(() => ({ id: 'AAAA' })), 'shape'],
    ['another format', () => ({ format: 'countersign.receipt/v2' }), 'shape'],
    ['an empty list of votes', () => ({ votes: [] }), 'shape'],
    ['both proofs', () => ({ totp: { checked_by: 'service' } }), 'shape'],
    [
      'another signature',
      ({ receipt }) => ({ receipt: { ...receipt, signature: flip(receipt.signature) } }),
      'receipt',
    ],
    ['another intent', ({ intent }) => ({ intent: intent.replace('4.2.0', '4.2.1') }), 'receipt'],
    ['no intent', () => ({ intent: '{}' }), 'intent'],
    ['another context', () => ({ context: '{}' }), 'context'],
    [
      'the word of the service in place of the passkey',
      () => ({ totp: { checked_by: 'service' }, passkey: undefined, enrolment: undefined }),
      'receipt',
    ],
    ['another origin', clientData('approvals.', 'approval.'), 'origin'],
    ['a frame', clientData('"crossOrigin":false', '"crossOrigin":true'), 'origin'],
    ['another challenge', clientData(/"challenge":"./, '"challenge":"*'), 'challenge'],
    ['a challenge named twice', clientData('{', '{"challenge":"x",'), 'challenge'],
    ['client data left out that are not the usual', passkey(() => ({ client_data: undefined })), 'assertion'],
    [
      'another relying party',
      passkey(({ authenticator_data }) => ({ authenticator_data: flip(authenticator_data) })),
      'rp_id',
    ],
    [
      'nobody verified',
      passkey(({ authenticator_data }) => ({ authenticator_data: withFlags(authenticator_data, 0x01) })),
      'presence',
    ],
    [
      'another counter',
      passkey(({ authenticator_data }) => ({ authenticator_data: flip(authenticator_data, 48) })),
      'assertion',
    ],
    ['another key', passkey(({ key }) => ({ key: flip(key, 30) })), 'assertion'],
    ['a key in another spelling', passkey(({ key }) => ({ key: `${key}AAAA` })), 'assertion'],
    ['one more signature byte', passkey(({ signature }) => ({ signature: `${signature}AAAA` })), 'assertion'],
    ['the signature of another passkey', ({ intent }) => ({ passkey: passkeyOf(intent, -7) }), 'inclusion'],
    ['another record', log(({ record }) => ({ record: flip(record) })), 'inclusion'],
    [
      'a path without its last hash',
      log(({ proof }) => ({ proof: proof.replace(/\n[^\n]+\n\n/, '\n\n') })),
      'inclusion',
    ],
    [
      'bytes beside the path',
      log(({ proof }) => ({ proof: proof.replace('\nindex', '\nextra AAAA\nindex') })),
      'inclusion',
    ],
    [
      'a signature of another log',
      log(({ proof }) => ({ proof: proof.replace(/(— approvals\S+ \S{20})./, '$1*') })),
      'inclusion',
    ],
    [
      'a wrong cosignature',
      log(({ proof }) => ({
        proof: proof.replace(
          /(— witness\S+ \S{60})(.)/,
          (_, head, one) => `${head}${one === 'A' ? 'B' : 'A'}`,
        ),
      })),
      'checkpoint',
    ],
  ]
  const enrolment = (change: (now: NonNullable<Bundle['enrolment']>) => object) => (bundle: Bundle) => ({
    enrolment: { ...bundle.enrolment, ...(bundle.enrolment && change(bundle.enrolment)) },
  })
  const registered: typeof cases = [
    ['a registration without a log', () => ({ log: undefined }), 'shape'],
    ['a registration without a passkey', () => ({ passkey: undefined }), 'shape'],
    ['a member more in it', enrolment(({ subject }) => ({ subject: { ...subject, name: 'x' } })), 'shape'],
    ['another form in it', enrolment(({ subject }) => ({ subject: { ...subject, aaguid: 1 } })), 'shape'],
    ['another record of it', enrolment(({ record }) => ({ record: flip(record) })), 'enrolment'],
    ['another model', enrolment(({ subject }) => ({ subject: { ...subject, aaguid: 'x' } })), 'enrolment'],
    ['the place of the decision', ({ log, ...of }) => enrolment(() => ({ ...log }))(of), 'enrolment'],
    [
      'a proof under another checkpoint',
      enrolment(({ proof }) => ({ proof: proof.replace(/— witness.*\n$/, '') })),
      'enrolment',
    ],
    [
      'bytes beside the path of it',
      enrolment(({ proof }) => ({ proof: proof.replace('\nindex', '\nextra AAAA\nindex') })),
      'enrolment',
    ],
  ]
  const foreign: [string, BundleFacts, RegExp][] = [
    ['of another person', { enrolled: { approver: '0123456789abcdef' } }, /another person\.$/],
    ['of the approver, for whom another acted', { enrolled: {}, delegate: DELEGATE }, /another person\.$/],
    ['of another passkey', { enrolled: { public_key: 'AAAA' } }, /another passkey\.$/],
    ['that came later', { enrolled: {}, late: true }, /after the decision\.$/],
  ]
  it.each(foreign)('has a registration that is in the log, but is one %s', async (_, facts, message) => {
    const found = await judge(await makeBundle(facts))
    const expected = { verdict: 'bad', code: 'bundle_enrolment', message: expect.stringMatching(message) }
    expect(found).toMatchObject(expected)
    expect(found.checks.at(-1)).toEqual({ check: 'enrolment', outcome: 'failed' })
  })

  it.each([...cases, ...registered])('fails at its check: %s', async (_, change, check) => {
    const found = await judge(altered(change, odd))
    expect(found.verdict).toBe('bad')
    expect(found.checks.at(-1)).toEqual({ check, outcome: 'failed' })
    expect(found.message).toMatch(/^[A-Z“].*\.$/)
  })

  it('is not of a key that the service does not have, or of an expected decision', async () => {
    const foreign = await judge({ ...made, keys: [testKey('decision', 9)] })
    expect(foreign).toMatchObject({ verdict: 'bad', code: 'receipt_key_unknown' })
    const other = { expectedContent: { action: 'Deploy release 4.2.1 to production' } }
    const unexpected = await judge({ ...made, options: other })
    expect(unexpected).toMatchObject({ verdict: 'bad', code: 'receipt_unexpected' })
    expect(unexpected.checks.at(-1)?.check).toBe('expected')
    expect((await judge({ ...made, text: `${made.text}\n` })).verdict).toBe('bad')
  })
})

function withFlags(data: string, flags: number): string {
  const bytes = Buffer.from(data, 'base64url')
  bytes[32] = flags
  return bytes.toString('base64url')
}

it.each(['usual', 'odd'])(
  'calls no bundle good in which one byte was changed: %s client data',
  async (which) => {
    const whole = which === 'odd' ? odd : made
    const bytes = Buffer.from(whole.text)
    const [step, bits] = [size(23, 1), [1, 2, 32].slice(0, size(1, 3))]
    const passed: string[] = []
    for (let at = step - 1; at < bytes.length; at += step)
      for (const bit of bits) {
        const changed = Buffer.from(bytes)
        changed[at] = (bytes[at] ?? 0) ^ bit
        const { verdict } = await judge({ ...whole, text: changed.toString('utf8') })
        if (verdict === 'good') passed.push(`${at}: ${changed.subarray(at - 20, at + 20)}`)
      }
    expect(passed).toEqual([])
  },
)
