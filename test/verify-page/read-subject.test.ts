import { describe, expect, it } from 'vitest'
import { MAX_BYTES, readSubject } from '../../dashboard/verify/read-subject.ts'
import { livePayload } from '../signing/fixtures.ts'
import { ORIGIN } from './receipts.ts'

const { rid, did } = livePayload
const read = (text: string) => readSubject(text, ORIGIN)

describe('readSubject', () => {
  it.each([
    ['a request id', rid, rid, 'request'],
    ['a decision id with blanks around', ` ${did}\n`, did, 'decision'],
    ['the link to a request', `${ORIGIN}/a/${rid}?d=approve`, rid, 'request'],
    ['the link in the dashboard', `${ORIGIN}/requests/${rid}`, rid, 'request'],
    ['verify_url', `${ORIGIN}/api/v1/approvals/${rid}/verify`, rid, 'request'],
    ['a link to this page', `${ORIGIN}/verify#${did}`, did, 'decision'],
  ])('takes %s', (_what, text, id, of) => {
    expect(read(text)).toStrictEqual({ kind: 'id', id, of })
  })

  it('takes JSON, also after a writing aid went over it', () => {
    // The text stays as it is: bundles are checked byte for byte.
    for (const text of ['{"a": 1}', '{“a”:\u00a01}'])
      expect(read(` ${text}\n`)).toStrictEqual({ kind: 'receipt', json: { a: 1 }, text })
    expect(read('[{"a": 1}]')).toMatchObject({ kind: 'receipt', json: [{ a: 1 }] })
  })

  it.each([
    ['nothing', ' \n', 'first'],
    ['words', 'approved by Ana', 'not an id, a link or JSON'],
    ['half of a receipt', '{"signature": "abc', 'not an id, a link or JSON'],
    ['a number', '12', 'not an id, a link or JSON'],
    ['an upper-case id', rid.toUpperCase(), 'not an id, a link or JSON'],
    ['a link without an id', `${ORIGIN}/account`, 'no request id'],
    ['a link to another service', `https://other.example/a/${rid}`, 'another service, other.example.'],
    ['a link to another port', `${ORIGIN}:8443/a/${rid}`, 'another service, approve.example:8443.'],
    [
      'a link with a name of ours in front',
      `${ORIGIN}@evil.example/a/${rid}`,
      'another service, evil.example.',
    ],
    ['a broken link', 'https://[', 'broken'],
    ['a key set', '{"keys": []}', 'key set, not a receipt'],
    ['a key set with restores', '{"keys": [], "restores": []}', 'key set, not a receipt'],
  ])('says what is wrong with %s', (_what, text, words) => {
    const subject = read(text)
    expect(subject.kind).toBe('problem')
    expect(subject).toHaveProperty('sentence', expect.stringContaining(words))
  })

  it('reads a receipt with a key set beside it, as the command line does', () => {
    expect(read('{"signature": "x", "keys": []}')).toMatchObject({
      kind: 'receipt',
      json: { signature: 'x', keys: [] },
    })
  })

  it('reads 1 MiB and not a byte more', () => {
    const full = `{"a":"${'x'.repeat(MAX_BYTES - 8)}"}`
    expect(full).toHaveLength(MAX_BYTES)
    expect(read(full).kind).toBe('receipt')
    const umlauts = `{"a":"${'ä'.repeat(MAX_BYTES / 2)}"}`
    for (const text of [full.replace('x', 'xx'), umlauts]) {
      expect(read(text)).toHaveProperty('sentence', expect.stringContaining('longer than 1 MiB'))
    }
  })
})
