import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { createAppender } from '../../src/flow/audit/append-to-trail.ts'
import { GENESIS } from '../../src/signing/audit-chain.ts'
import { entryNumber } from '../support/audit-entries.ts'
import { type CliRun, cli, startCli, useDataDir } from '../support/cli.ts'
import { freePort } from '../support/service.ts'
import { random, useTrailStore } from '../support/trail-store.ts'

/** NDJSON: one object a line. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely; a wrong path fails the assertion
const lines = ({ stdout }: CliRun): any[] =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

/** A store with a trail of `count` records that commands and the test can reach. */
async function useTrail(count: number) {
  const { trails, connection, uri } = await useTrailStore()
  const [trail] = trails
  const entries = Array.from({ length: count }, (_, index) =>
    entryNumber(index + 1, {
      type: 'approval.verified',
      actor: { kind: 'public', address: '192.0.2.7' },
      detail: { result: 'valid' },
    }),
  )
  await createAppender({ trail, random })(entries)
  const { env: data } = await useDataDir()
  const env: Record<string, string> = { ...data, MONGODB_URI: uri }
  const log = connection.collection<{ _id: number }>('audit_log')
  const run = (...words: string[]) => cli(['audit', ...words], { env })
  return { trail, log, connection, env, run }
}

describe('countersign audit list', () => {
  it('tells beside a running service what happened, a moment after it did', async () => {
    const { env: data } = await useDataDir()
    const env = { ...data, PORT: String(await freePort()) }
    const service = startCli(['serve', '--json'], { env })
    await service.line(/"msg":"Countersign is running"/)
    await cli(['user', 'invite', 'alice@example.com'], { env })
    const { key } = (
      await cli(['key', 'create', '--owner', 'alice@example.com', '--name', 'bot', '--json'], { env })
    ).json()
    const listed = () => cli(['audit', 'list', '--json', '--subject', key.id], { env })
    await expect.poll(async () => lines(await listed())[0]?.seq, { interval: 10 }).toBeGreaterThan(0)
    const [created] = lines(await listed())
    expect(created).toEqual({
      seq: expect.any(Number),
      id: expect.stringMatching(/^evt_/),
      type: 'key.created',
      at: expect.stringMatching(/Z$/),
      actor: { kind: 'cli' },
      account_id: expect.stringMatching(/^acc_/),
      subject: key.id,
      detail: {},
      content_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    // Other entries may come after this one, though they were made before it.
    const check = () => cli(['audit', 'check', '--json'], { env })
    await expect.poll(async () => (await check()).json().waiting).toBe(0)
    const account = await cli(['audit', 'list', '--account', created.account_id, '--type', 'user.invited'], {
      env,
    })
    expect(account.stdout).toMatch(
      /^NO\. +TIME +WHAT +BY +ABOUT +DETAIL\n\d+ +\S+Z +user\.invited +command line +usr_\S+\n$/,
    )

    const checked = await check()
    expect([checked.code, checked.stderr]).toEqual([0, ''])
    expect(checked.json()).toMatchObject({ ok: true, waiting: 0, found: 0, first_bad: null, findings: [] })
    await cli(['key', 'revoke', key.id], { env })
    const later = await cli(['audit', 'check', '--expect', checked.json().head], { env })
    expect([later.code, later.stderr]).toEqual([0, ''])
    expect(later.stdout).toContain('The audit trail is intact')
    expect(later.stdout).toMatch(/\n {2}Head {7}\d+:[0-9a-f]{64}\n/)
    expect(await service.stop()).toBe(0)
  })

  it('shows what no service has appended yet, on top', async () => {
    const { env } = await useDataDir()
    await cli(['user', 'invite', 'alice@example.com'], { env })
    const waiting = await cli(['audit', 'list', '--type', 'user.invited'], { env })
    expect(waiting.stdout).toMatch(/\nwaits +\S+Z +user\.invited +command line +usr_/)
    expect(lines(await cli(['audit', 'list', '--json'], { env })).map(({ seq }) => seq)).toContain(null)
    const check = await cli(['audit', 'check', '--json'], { env })
    expect(check.json()).toMatchObject({ ok: true, records: 0, head: `0:${GENESIS.hash}`, waiting: 7 })
    const told = await cli(['audit', 'check'], { env })
    expect(told.stdout).toContain('; 7 entries wait for a running service to append them\n')
  })

  it('lists newest first, as many as asked for, by subject', async () => {
    const { connection, run } = await useTrail(60)
    expect(lines(await run('list', '--json')).map(({ seq }) => seq)).toEqual(
      Array.from({ length: 50 }, (_, index) => 60 - index),
    )
    expect(lines(await run('list', '--json', '--limit', '2')).map(({ seq }) => seq)).toEqual([60, 59])
    const foot = async (...words: string[]) => (await run('list', ...words)).stdout.split('\n').slice(-2)
    expect(await foot()).toEqual(['Only the newest 50 are shown; more: --limit <n>', ''])
    expect(await foot('--limit', '59')).toEqual(['Only the newest 59 are shown; more: --limit <n>', ''])
    expect(await foot('--limit', '60')).toEqual([expect.stringMatching(/^1 +/), ''])
    const one = await run('list', '--subject', 'req_7')
    expect(one.stdout.split('\n')[1]).toMatch(
      /^7 +\S+Z +approval\.verified +public from 192\.0\.2\.7 +req_7 +result=valid$/,
    )
    const made = ['req_8', 'req_9'].map((_id) => Object({ _id, api_key_id: 'key_1' }))
    await connection.collection('requests').insertMany(made)
    expect(lines(await run('list', '--json', '--key', 'key_1')).map(({ seq }) => seq)).toEqual([9, 8])
    expect((await run('list', '--key', 'key_1', '--subject', 'req_8')).stderr).toContain('not both')
    expect((await run('list', '--account', 'acc_none')).stdout).toBe(
      'No entry matches; leave out --account, --type, --subject or --key to see more.\n',
    )
    expect(await run('list', '--account', 'acc_none', '--json')).toMatchObject({ code: 0, stdout: '' })
  })

  it('shows hostile texts without letting them reach the terminal', async () => {
    const { trail, run } = await useTrail(1)
    const subject = 'x\u001b[2J\u202e\nreq_1'
    await createAppender({ trail, random })([entryNumber(9, { subject, detail: { 'a\u0007': 'b\u0000' } })])
    const { stdout } = await run('list')
    expect(stdout).not.toMatch(/[^\n\x20-\x7e]/)
    expect(stdout.split('\n')).toHaveLength(4)
    expect(lines(await run('list', '--json', '--limit', '1'))[0]).toMatchObject({ seq: 2, subject })
  })

  it.each([
    [['list', '--limit', '0'], '--limit must be a whole number from 1 to 10000.'],
    [['list', '--limit', 'many'], '--limit must be a whole number from 1 to 10000.'],
    [['list', '--type', 'approval'], /^"approval" is not a type; choose among approval\.created, /],
    [['check', '--expect', '7'], /^--expect must be a head as printed by an earlier check: /],
    [
      ['check', '--expect', `7:${'g'.repeat(64)}`],
      /^--expect must be a head as printed by an earlier check: /,
    ],
    [['check', '--since', 'last'], /^--since must be a head as printed by an earlier check: /],
    [
      ['check', '--since', `7:${'0'.repeat(64)}`, '--expect', `7:${'0'.repeat(64)}`],
      'Give --expect or --since, not both: --since also checks that the trail still has that head.',
    ],
  ])('is called wrongly with %j: exit code 2', async (words, message) => {
    const { run } = await useTrail(0)
    const result = await run(...words, '--json')
    expect([result.code, result.stdout]).toEqual([2, ''])
    expect(result.error()).toEqual({
      error: 'usage',
      message: typeof message === 'string' ? message : expect.stringMatching(message),
    })
  })
})

describe('T85: countersign audit check', () => {
  it('names the record that was edited, and says what to do', async () => {
    const { log, run } = await useTrail(20)
    await log.updateOne({ _id: 7 }, { $set: { 'entry.detail.result': 'pending' } })
    const told = await run('check')
    expect([told.code, told.stderr]).toEqual([1, ''])
    expect(told.stdout.split('\n')).toEqual([
      'THE AUDIT TRAIL IS BROKEN from record 7 on.',
      '  Records    20',
      '  Documents  0',
      expect.stringMatching(/^ {2}Head {7}20:[0-9a-f]{64}$/),
      '',
      '  Record 7 was changed after it was written.',
      '',
      'Trust only records 1 to 6. Copy the store before anything else writes to it, find out who could, and compare with a backup.',
      '',
    ])
    const json = await run('check', '--json')
    expect(json.code).toBe(1)
    expect(json.json()).toMatchObject({
      ok: false,
      first_bad: 7,
      found: 1,
      findings: [{ code: 'changed', seq: 7, message: 'Record 7 was changed after it was written.' }],
    })
    expect(json.error()).toEqual({
      error: 'audit_trail_broken',
      message: expect.stringMatching(/^Trust only records 1 to 6\./),
    })
  })

  it('names what is missing from a trail that was cut short, by the head of an earlier check', async () => {
    const { log, run } = await useTrail(20)
    const { head } = (await run('check', '--json')).json()
    await log.deleteMany({ _id: { $gt: 15 } })
    expect((await run('check', '--json')).json()).toMatchObject({ ok: true, records: 15 })
    const found = await run('check', '--json', '--expect', head)
    expect(found.code).toBe(1)
    expect(found.json()).toMatchObject({ first_bad: 16, findings: [{ code: 'truncated', seq: 16 }] })
    await log.deleteMany({})
    expect((await run('check', '--expect', head)).stdout).toContain('Trust no record. ')
  })

  it('says in a sentence what each kind of damage is', async () => {
    const { trail, log, connection, run } = await useTrail(20)
    await createAppender({ trail, random })([
      entryNumber(21, { type: 'key.created', subject: 'key_gone' }),
      entryNumber(22, { type: 'key.revoked', subject: 'key_here' }),
    ])
    await connection.collection<{ _id: string }>('api_keys').insertOne({ _id: 'key_here' })
    await log.deleteOne({ _id: 4 })
    const moved = await log.findOneAndDelete({ _id: 7 })
    await log.insertOne({ ...moved, _id: 7.5 })
    await connection.collection<{ _id: string }>('audit_log').insertOne({ _id: 'stray' })
    const { stdout } = await run('check', '--since', `1:${'0'.repeat(64)}`)
    const told = stdout.split('\n').filter((line) => line.startsWith('  '))
    expect(told.slice(3)).toEqual([
      '  Record 1 has changed: it, or one before it, was rewritten.',
      '  Record 2 does not follow from the one before: it was replaced, moved or inserted.',
      '  Record 4 is missing.',
      '  Record 7 was replaced by one with the impossible number 7.5.',
      '  Record 7 is missing.',
      "  The trail's collection contains a document that is not a record: stray.",
      '  There is no entry key.created for key_here (api_keys), although its state implies one.',
      '  Record 22 reports key.revoked of key_here (api_keys), but its state does not.',
      '  Record 21 reports key.created of key_gone, which is not in api_keys.',
    ])
  })

  it('tells on stderr how far it is, and goes on from there if it is asked to', async () => {
    const { log, run } = await useTrail(20_100)
    const told = await run('check')
    const [, count, head] = /^(20\d{3}) records checked, up to (\S+) …\n$/.exec(told.stderr) ?? []
    expect((await run('check', '--json')).stderr).toBe('')
    const later = await run('check', '--since', String(head))
    expect(later.stdout).toContain('The audit trail is intact since that head: ')
    expect(later.stdout).toContain(`  Records    ${20_100 - Number(count)}\n`)
    await log.updateOne({ _id: 20_050 }, { $set: { 'entry.detail.result': 'pending' } })
    await log.updateOne({ _id: 7 }, { $set: { 'entry.detail.result': 'pending' } })
    const since = (from: string) => run('check', '--json', '--since', from)
    expect((await since(String(head))).json()).toMatchObject({
      found: 1,
      findings: [{ code: 'changed', seq: 20_050 }],
    })
    expect((await since(`${count}:${'0'.repeat(64)}`)).json()).toMatchObject({
      findings: [
        { code: 'rewritten', seq: Number(count) },
        { code: 'unlinked', seq: Number(count) + 1 },
        { code: 'changed', seq: 20_050 },
      ],
    })
    expect((await since(`30000:${'0'.repeat(64)}`)).json()).toMatchObject({
      head: null,
      findings: [{ code: 'truncated', seq: 30_000 }],
    })
    const { stdout } = await run('check', '--since', `30000:${'0'.repeat(64)}`)
    expect(stdout).toContain('\n  Head       none: the trail does not have the head that was given\n')
    await log.deleteOne({ _id: Number(count) })
    expect((await since(String(head))).json()).toMatchObject({ first_bad: Number(count), found: 2 })
  })

  it('says of an empty database that it is empty, as do other commands that read, and leaves it so', async () => {
    const { connection, env } = await useTrail(0)
    await connection.db?.dropDatabase()
    const message =
      'The database is empty. Check its name in MONGODB_URI, or start the service there first: npm start'
    for (const words of ['audit check', 'audit list', 'user list', 'key list', 'signing-keys list']) {
      const run = await cli([...words.split(' '), '--json'], { env })
      expect([run.code, run.stdout, run.error()], words).toEqual([1, '', { error: 'no_store', message }])
    }
    expect(await connection.db?.listCollections().toArray()).toEqual([])
    expect(existsSync(String(env.DATA_DIR)), 'no secrets were made').toBe(false)
  })
})
