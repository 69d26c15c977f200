// Questions with the idempotency key by which every client, in whatever language, must ask them: the SHA-256 of the RFC 8785 text of
// [run, call, {action, context}], in base64url; with attachments, of [run, call, {action, context, attachments}], where each of these is
// its name, the SHA-256 of its content in hex, and its base if it has one.
import { createHash } from 'node:crypto'

const pair = ['run-1', 'call-1']

/** Contexts whose text other languages are likely to write otherwise. */
const CONTEXTS = {
  'no context': {},
  'a text, a number, true, null': { a: 'b', n: 1, t: true, z: null },
  'names out of order': { b: 1, a: 2, A: 3, aa: 4 },
  'names that are numbers, sorted as texts': { 10: 'b', 9: 'a', b: 1, '01': 2 },
  'names sorted by UTF-16 code units': { '\ufb33': 1, '\u{1f600}': 2, '\u20ac': 3, '\r': 4, ö: 5 },
  'an empty name': { '': 1 },
  'a name like __proto__': JSON.parse('{"__proto__":{"a":1},"constructor":2}'),
  'lists in lists': { a: [[], [[1]], {}, [{ b: [] }]] },
  'control characters': { a: '\u0000\u0001\b\t\n\u000b\f\r\u001f\u007f\u0080' },
  'quotes and slashes': { a: '"\\/\'<>&' },
  'line separators': { a: '\u2028\u2029\ufeff' },
  'beyond the basic plane': { a: '\u{1f600}\u{10ffff}' },
  'not normalised': { a: 'e\u0301', b: '\u00e9' },
  'an amount as text': { amount: '1834.15', currency: 'EUR' },
  'arguments of a guarded function': { arguments: ['4711', '19.90', { customer: 'ACME' }] },
  'arguments of a tool': { tool: 'refund', arguments: { customer: 'ACME' } },
}

const NUMBERS = [
  0,
  -0,
  1,
  -1,
  1.5,
  -1.5,
  0.1,
  0.30000000000000004,
  100,
  1e20,
  1e21,
  -1e21,
  1.5e300,
  123456789012345680000,
  1234567890123456800000,
  1e-6,
  1.5e-6,
  1e-7,
  1.5e-7,
  -1.25e-7,
  5e-324,
  1.7976931348623157e308,
  2 ** 53 - 1,
  -(2 ** 53 - 1),
  4.35,
  0.000001234,
  333333333.3333333,
  1e23,
  9.5e-17,
  1000000.5,
]

const ATTACHED = {
  'a text as an attachment': [{ name: 'config.yaml', text: 'replicas: 2\n' }],
  'an attachment with a base, and an empty one': [
    { name: 'new', text: 'ä\r\n\u{1f600}', base: 'old' },
    { name: 'old', text: '' },
  ],
  'bytes as an attachment, not shown': [{ name: 'a.bin', base64: 'AP+A', type: 'file' }],
  'an empty list of attachments': [],
}

/** @param canonicalize of the service: RFC 8785 */
export function questionVectors(canonicalize) {
  const asked = [
    ...Object.entries(CONTEXTS).map(([about, context]) => ({ about, for: pair, action: 'Pay', context })),
    ...NUMBERS.map((n) => ({
      about: `the number ${Object.is(n, -0) ? '-0' : n}`,
      for: pair,
      action: 'Pay',
      context: { n },
    })),
    {
      about: 'names with spaces and other scripts',
      for: ['thread ünïcode 🙂', 'call\n0'],
      action: 'Pay',
      context: {},
    },
    { about: 'run and call are not joined', for: ['run-1call', '-1'], action: 'Pay', context: {} },
    ...Object.entries(ATTACHED).map(([about, attachments]) => ({
      ...{ about, for: pair, action: 'Write', context: { path: 'config.yaml' }, attachments },
    })),
    { about: 'an action of other scripts', for: pair, action: 'Überweisen an 株式会社 🙂', context: {} },
  ]
  return asked.map((one) => ({ ...one, key: keyOf(canonicalize, one) }))
}

function keyOf(canonicalize, { for: names, action, context, attachments = [] }) {
  const hashed = attachments.map(({ name, text, base64, base }) => {
    const content = text === undefined ? Buffer.from(base64, 'base64') : text
    return { name, sha256: createHash('sha256').update(content).digest('hex'), ...(base && { base }) }
  })
  const about = { action, context, ...(hashed.length > 0 && { attachments: hashed }) }
  const text = canonicalize([...names, about])
  return createHash('sha256').update(text, 'utf8').digest('base64url')
}
