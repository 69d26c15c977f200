import fc from 'fast-check'
import type { AuditActor, AuditEntry } from '../../src/domain/audit.ts'
import { linkEntry } from '../../src/signing/audit-chain.ts'

/** Entry number `n`, about a request. */
export function entryNumber(n: number, more: Partial<AuditEntry> = {}): AuditEntry {
  return {
    eid: `evt_${String(n).padStart(26, '0')}`,
    type: 'approval.created',
    at: new Date(1_800_000_000_000 + n),
    actor: { kind: 'service' },
    account_id: 'acc_1',
    subject: `req_${n}`,
    ...more,
  }
}

/** A chain of such entries, from the first record on. */
export function chainOf(entries: readonly AuditEntry[], head = { seq: 0, hash: GENESIS_HASH }) {
  const records: ReturnType<typeof linkEntry>[] = []
  for (const [index, entry] of entries.entries()) {
    const salt = (head.seq + index + 1).toString(16).padStart(64, '0')
    records.push(linkEntry(records.at(-1) ?? head, entry, salt))
  }
  return records
}

const GENESIS_HASH = '18fd8b0ca59ffd28be5bbc6b43c5a7e5eb9799290703e514fdd088e273ca2859'

/** Texts that break writers: lone surrogates, NUL, operators, terminal commands, right-to-left marks. */
const hostileText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '\ud800',
    'a\udfff',
    '\u0000',
    '$where',
    '__proto__',
    '\u001b[2J',
    '\u202e',
    '{"$ne":null}',
    '',
  ),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 8 })
    .map((units) => String.fromCharCode(...units)),
)

const hostileKey = fc.oneof(
  fc.constantFrom(
    '__proto__',
    '_bsontype',
    'toJSON',
    'toBSON',
    '$set',
    'a.b',
    'nul\u0000',
    '',
    'constructor',
  ),
  fc.string({ minLength: 1, maxLength: 12 }),
)

const hostileValue = fc.oneof(
  hostileText,
  fc.boolean(),
  fc.double(),
  fc.integer(),
  fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, -0, Number.MAX_SAFE_INTEGER, 2 ** 53),
)

const actor: fc.Arbitrary<AuditActor> = fc.oneof(
  fc.record({ kind: fc.constant('public' as const), address: hostileText }),
  fc.record({ kind: fc.constant('user' as const), id: hostileText, address: hostileText }),
  fc.record({ kind: fc.constant('api_key' as const), id: hostileText }),
  fc.constant({ kind: 'cli' as const }),
)

/** An entry in which everything that could come from outside is hostile. Ids of entries are ours: give one. */
export const hostileEntry: fc.Arbitrary<Omit<AuditEntry, 'eid'>> = fc.record(
  {
    type: fc.constantFrom('approval.verified' as const, 'key.created' as const),
    at: fc.date({ noInvalidDate: true }),
    actor,
    account_id: hostileText,
    subject: hostileText,
    // Not made by assignment: a key named __proto__ must arrive as a key.
    detail: fc
      .array(fc.tuple(hostileKey, hostileValue), { maxLength: 5 })
      .map((pairs) => Object.fromEntries(pairs)),
  },
  { requiredKeys: ['type', 'at', 'actor', 'subject'] },
)
