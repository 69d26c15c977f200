import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { canonicalize } from '../../src/signing/canonical.ts'
import { toJwks } from '../../src/signing/jwks.ts'
import { testKey } from '../signing/fixtures.ts'
import { type MadeBundle, makeBundle } from '../support/bundles.ts'
import { cli } from '../support/cli.ts'

const NOWHERE = { DATA_DIR: '/proc/none', MONGODB_URI: 'mongodb://127.0.0.1:1', PORT: 'not a port' }

let folder: string
let made: MadeBundle
let rejected: MadeBundle
let unwitnessed: MadeBundle
let enrolled: MadeBundle
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-bundle-'))
  made = await makeBundle()
  rejected = await makeBundle({ decision: 'rejected' })
  unwitnessed = await makeBundle({ witnesses: 0, method: 'totp' })
  enrolled = await makeBundle({ enrolled: {} })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function file(name: string, content: string): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

/** Runs the command on files, or on stdin for `-`, with the policy that wants one witness. */
function verify(
  paths: string[],
  more: string[] = ['--policy', file('trust.policy', made.policy)],
  stdin?: string,
) {
  const jwks = file('jwks.json', JSON.stringify(toJwks([testKey('decision')])))
  const on = { env: NOWHERE, ...(stdin === undefined ? {} : { stdin }) }
  return cli(['verify', ...paths, '--jwks', jwks, ...more], on)
}

const tampered = (text: string) => text.replace('4.2.0 to production', '4.2.1 to production')

describe('countersign verify of a bundle', () => {
  it('names each check, in order, and ends with 0 for a good one', async () => {
    const run = await verify([file('good.json', `${made.text}\n`)])
    expect([run.code, run.stderr]).toEqual([0, ''])
    const lines = run.stdout.split('\n')
    expect(lines[0]).toBe('GOOD: the request was approved.')
    expect(lines[2]).toMatch(/^ {2}Action {5}Deploy .*4\.2\.0 to production/)
    expect(run.stdout).toContain('  absent  expected    nothing was named to compare it with (--expect-…)\n')
    expect(run.stdout).toContain('Vote       approved by 9f2c4e6a8b0d1f35, by a passkey’s own signature\n')
    expect(run.stdout).toContain(
      'Log        entry 333334 of 1000000 in approvals.example.com/countersign/1a2b3c4d\n',
    )
    expect(run.stdout).toContain('Witness    witness-1.example.org at 2026-06-01T12:00:09Z\n')
    expect(
      lines.filter((line) => /^ {2}(passed|absent)/.test(line)).map((line) => line.split(/ +/)[2]),
    ).toEqual([
      ...['shape', 'receipt', 'intent', 'context', 'expected', 'challenge', 'origin', 'rp_id'],
      ...['presence', 'assertion', 'votes', 'inclusion', 'enrolment', 'checkpoint', 'witnesses'],
    ])
    const json = (await verify([file('good.json', made.text)], ['--json'])).json()
    expect(json).toMatchObject({
      verdict: 'good',
      proof: 'passkey',
      payload: { decision: 'approved' },
      quorum: 1,
    })
  })

  it('ends with 1 for a bad one, 2 for one that is less than the policy asks for, 4 for a rejection', async () => {
    const bad = await verify([file('bad.json', tampered(made.text))], ['--json'])
    expect([bad.code, bad.json()]).toMatchObject([1, { verdict: 'bad', error: 'receipt_signature_invalid' }])
    expect(bad.json()).not.toHaveProperty('payload')
    const unmet = await verify([file('unmet.json', unwitnessed.text)])
    expect([unmet.code, unmet.stdout]).toEqual([2, expect.stringMatching(/^POLICY NOT MET: Fewer witnesses/)])
    expect(unmet.stdout).toContain('by a code, which rests on the service alone\n')
    const no = await verify([file('no.json', rejected.text)])
    expect([no.code, no.stdout]).toEqual([4, expect.stringMatching(/^GOOD: the request was rejected\.\n/)])
    const other = await verify(['-'], ['--expect-service', 'https://other.example', '--json'], made.text)
    expect([other.code, other.error().error]).toEqual([1, 'receipt_unexpected'])
    const broken = await verify(['-'], [], made.text.replace('"format"', 'format'))
    expect(broken).toMatchObject({ code: 1 })
  })

  it('says of each check what it found, in words of that outcome', async () => {
    const row = async (text: string, ...more: string[]) =>
      (await verify(['-'], more, text)).stdout
        .split('\n')
        .filter((line) => / {2}(failed|unmet|absent) /.test(line))
    const trusted = file('trust.policy', made.policy)
    const not = 'absent  expected    nothing was named to compare it with (--expect-…)'
    const alone = 'absent  enrolment   only the service says whose passkeys these are (?enrolment=1)'
    expect(await row(made.text.replace('4.2.0 to', '4.2.1 to'))).toEqual([
      '  failed  receipt     is not a receipt that a pinned key of the service could have signed',
    ])
    expect(await row(made.text.replace('"key":"pQECAyYgASFYI', '"key":"pQECAyYgASFYJ'))).toEqual([
      `  ${not}`,
      '  failed  assertion   the signature of the passkey does not hold',
    ])
    expect(await row(unwitnessed.text, '--policy', file('none.policy', unwitnessed.policy))).toEqual([
      `  ${not}`,
      '  absent  witnesses   the policy asks for no witness (quorum none)',
    ])
    expect(await row(unwitnessed.text, '--policy', trusted)).toEqual([
      `  ${not}`,
      '  unmet   witnesses   fewer witnesses have seen that tree than the policy asks for',
    ])
    const elsewhere = made.text.replaceAll('com/countersign', 'com/another')
    expect(await row(elsewhere, '--policy', trusted)).toEqual([
      `  ${not}`,
      `  ${alone}`,
      '  unmet   checkpoint  no policy trusts that log',
    ])
    expect(await row(made.text, '--policy', trusted)).toEqual([`  ${not}`, `  ${alone}`])
    const { log: _, ...unlogged } = made.bundle
    expect(await row(canonicalize(unlogged), '--policy', trusted, '--enrolment')).toEqual([
      `  ${not}`,
      '  unmet   inclusion   has no place in a log',
      '  unmet   enrolment   only the service says whose passkeys these are, or that codes were right',
    ])
  })

  it('asks the log whose passkey it is: exit code 2 where it does not say', async () => {
    const ask = (text: string, ...more: string[]) => verify(['-'], ['--enrolment', ...more], text)
    const policy = ['--policy', file('trust.policy', made.policy)]
    const known = await ask(enrolled.text, ...policy)
    expect([known.code, known.stdout]).toEqual([
      0,
      expect.stringContaining(
        'passed  enrolment   each passkey was registered before, in that tree, by the person who voted\n',
      ),
    ])
    const unknown = await ask(made.text, ...policy)
    expect([unknown.code, unknown.stdout]).toEqual([
      2,
      expect.stringMatching(/^POLICY NOT MET: The log does not say of every vote that/),
    ])
    const blind = await ask(enrolled.text)
    expect([blind.code, blind.stderr]).toEqual([2, expect.stringContaining('--enrolment needs --policy')])
  })

  it('shows the action on one line, with control characters by name', async () => {
    const { text } = await makeBundle({ action: 'Pay 1 EUR\n  Decision   rejected\u001b[2K\u202e' })
    const { stdout } = await verify(['-'], [], text)
    expect(stdout).toContain('\n  Action     Pay 1 EUR   Decision   rejected[U+001B][2K[U+202E]\n')
  })

  it('warns of a key that was revoked after it had signed', async () => {
    const revoked = { ...testKey('decision'), revokedAt: new Date('2026-09-01T00:00:00Z') }
    const jwks = file('revoked.json', JSON.stringify(toJwks([revoked])))
    const run = (text: string, ...more: string[]) =>
      cli(['verify', '-', '--jwks', jwks, ...more], { env: NOWHERE, stdin: text })
    const words =
      /CAUTION: The key was revoked later, at 2026-09-01T00:00:00.000Z\. A thief could have back-dated/
    for (const text of [made.text, `${made.text}\n${rejected.text}\n`]) {
      const found = await run(text)
      expect([found.code, found.stdout]).toEqual([0, expect.stringMatching(words)])
    }
    const json = (await run(made.text, '--json')).json()
    expect(json).toMatchObject({ verdict: 'good', caution: expect.stringMatching(/^The key was revoked/) })
  })

  it('checks many, of many files or line by line; the exit code is that of the worst', async () => {
    const lines = `${made.text}\n${rejected.text}\n`
    const good = await verify(['-'], undefined, lines)
    expect([good.code, good.stdout]).toEqual([0, expect.stringMatching(/2 good, 0 good but .*, 0 bad\n$/)])
    expect(good.stdout).toContain(`good   stdin:2  req_${'7'.repeat(26)} rejected\n`)
    const unmet = await verify(['-'], undefined, `${lines}${unwitnessed.text}`)
    expect(unmet.code).toBe(2)
    const paths = [file('one.ndjson', lines), file('two.json', tampered(made.text))]
    const bad = await verify(paths, ['--json'])
    expect(bad.code).toBe(1)
    const rows = bad.stdout
      .trim()
      .split('\n')
      .map((row) => JSON.parse(row))
    expect(rows.map(({ name, verdict }) => [name.slice(folder.length), verdict])).toEqual([
      ['/one.ndjson:1', 'good'],
      ['/one.ndjson:2', 'good'],
      ['/two.json', 'bad'],
    ])
  })

  it('reads no policy that it does not understand, and no receipt by one: exit code 2', async () => {
    const policy = await verify(
      [file('good.json', made.text)],
      ['--policy', file('odd.policy', 'witness x'), '--json'],
    )
    expect([policy.code, policy.error().message]).toEqual([
      2,
      expect.stringContaining('line 1 of the policy'),
    ])
    const receipt = await verify(['-'], undefined, '{"a":1}')
    expect([receipt.code, receipt.stderr]).toEqual([
      2,
      expect.stringContaining('--policy, --enrolment and --expect-service are for bundles'),
    ])
  })
})
