import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, inject, it } from 'vitest'
import { createAppender } from '../../../src/flow/audit/append-to-trail.ts'
import { checkTrail } from '../../../src/flow/audit/check-trail.ts'
import { createSequencer } from '../../../src/flow/audit/log.ts'
import { proveRecord, readLogState } from '../../../src/flow/audit/read-log.ts'
import { renewLog } from '../../../src/flow/audit/renew-log.ts'
import { createRelay, NO_LOOPS } from '../../../src/flow/relay/relay.ts'
import { hashOnNode } from '../../../src/signing/digest.ts'
import { parseCheckpointText } from '../../../src/signing/log/checkpoint.ts'
import { inclusionHolds, leafHash } from '../../../src/signing/log/merkle.ts'
import { parseNote } from '../../../src/signing/log/note.ts'
import { createStateSurvey } from '../../../src/store/audit/state-survey.ts'
import { entryNumber } from '../../support/audit-entries.ts'
import { cli, useDataDir } from '../../support/cli.ts'
import { copyLog, described, hex, logNews, rootOf, tileOf, unbundle } from '../../support/logs.ts'
import { restoreStore } from '../../support/restored.ts'
import { databaseUri, TEST_SECRETS, useService } from '../../support/service.ts'
import { smallLog } from '../../support/small-log.ts'

const CLI = { kind: 'cli' } as const

it('is stopped, too, where the copy was made before its first checkpoint', async () => {
  const { url, composition } = await useService()
  await restoreStore(composition.deps)
  const answer = await fetch(`${url}/log/checkpoint`)
  expect([answer.status, await answer.json()]).toMatchObject([503, { error: 'log_rolled_back' }])
})

it('signs nothing more once the store was restored, and goes on under another name; the old log stays', async () => {
  const own = await useService()
  const { deps } = own.composition
  const before = await logNews(own)
  const vkey = (await described(own)).vkey
  await restoreStore(deps)
  const oldTiles = [`/log/tile/0/000.p/${before.size}`, `/log/tile/entries/000.p/${before.size}`]
  const old = await Promise.all(oldTiles.map((path) => tileOf(own, path)))
  for (let times = 0; times < 2; times += 1) {
    await createSequencer(deps).run()
    await createRelay(deps, NO_LOOPS).run()
  }
  const answer = await fetch(`${own.url}/log/checkpoint`)
  expect([answer.status, await answer.json()]).toMatchObject([503, { error: 'log_rolled_back' }])
  expect(await readLogState(deps)).toMatchObject({ size: before.size, rolled_back: true })
  const told = await deps.trail.list({ type: 'log.rollback_detected', limit: 9 })
  expect(told.map(({ entry }) => entry)).toMatchObject([
    { subject: before.origin, detail: { size: before.size } },
  ])
  // Each start says so.
  expect(own.logged.filter(({ message }) => message.startsWith('log_rolled_back'))).toHaveLength(2)
  // The restore has made another key, which this log never uses.
  expect(await described(own)).toMatchObject({ origin: before.origin, vkey })

  expect(await renewLog(deps, CLI)).toMatchObject({ origin: `${before.origin}/log/2` })
  expect(await renewLog(deps, CLI)).toBeUndefined()
  const after = await logNews(own)
  expect(after.origin).toBe(`${before.origin}/log/2`)
  expect((await described(own)).vkey).not.toBe(vkey)
  const entries = unbundle(await tileOf(own, `/log/2/tile/entries/000.p/${after.size}`))
  expect(entries[0]?.toString()).toBe(before.note)
  expect([entries.length, rootOf(entries)]).toEqual([after.size, hex(after.root)])
  // As the registration of a passkey is proven: by the checkpoint of the decision, though it was in the earlier log before.
  const { earlier: [first] = [], ...proven } = (await proveRecord(deps, 3, [1])) ?? expect.unreachable()
  for (const [index, place] of [[3, proven] as const, [1, first] as const]) {
    const leaf = hashOnNode(leafHash(entries[index] ?? Buffer.alloc(0)))
    expect(hashOnNode(inclusionHolds(leaf, index, after, place?.path ?? []))).toBe(true)
    expect(place).toMatchObject({ index, checkpoint: proven.checkpoint })
  }

  expect(await Promise.all(oldTiles.map((path) => tileOf(own, path)))).toEqual(old)
  const ended = await fetch(`${own.url}/log/checkpoint`)
  expect([ended.status, await ended.text()]).toEqual([200, before.note])
  const former = [{ origin: before.origin, vkey, url: `${own.url}/log`, checkpoint: before.note }]
  expect(await described(own)).toMatchObject({ origin: after.origin, path: '/log/2', former })
  await restoreStore(deps)
  expect((await fetch(`${own.url}/log/checkpoint`)).status).toBe(200)
  expect((await fetch(`${own.url}/log/2/checkpoint`)).status).toBe(503)
  await renewLog(deps, CLI)
  expect((await logNews(own)).origin).toBe(`${before.origin}/log/3`)
  const second = { origin: after.origin, url: `${own.url}/log/2`, checkpoint: expect.any(String) }
  expect((await described(own)).former).toMatchObject([...former, second])
  expect((await fetch(`${own.url}/log/2/checkpoint`)).status).toBe(200)
  const survey = createStateSurvey(own.composition.connection)
  const { findings } = await checkTrail({ trail: deps.trail, logs: deps.logs, survey })
  expect(findings.filter(({ code }) => /^unlike|truncated/.test(code))).toEqual([])
  for (const path of [
    '/log/1/checkpoint',
    '/log/02/checkpoint',
    '/log/4/checkpoint',
    '/log/1/tile/0/000.p/1',
  ])
    expect((await fetch(`${own.url}${path}`)).status, path).toBe(404)
})

it('is followed by a monitor, which checks where it goes on; not without a word from its operator', async () => {
  const own = await useService()
  const { deps } = own.composition
  const { folder } = await useDataDir()
  const [state, policy] = [join(folder, 'log.json'), join(folder, 'trust.policy')]
  const trust: string[] = []
  const monitor = async (address = own.url, file = state) => {
    await writeFile(policy, `${trust.map((vkey) => `log ${vkey}\n`).join('')}quorum none\n`)
    const run = await cli(['log', 'monitor', address, '--state', file, '--policy', policy, '--json'])
    if (run.code === 2) return [2, run.error().message]
    const { checks, origin } = run.json()
    const told = checks.filter(({ ok, check }: Record<string, unknown>) => !ok || check === 'renewed')
    return [
      run.code,
      origin,
      ...told.flatMap(({ check, message }: Record<string, string>) => [check, message]),
    ]
  }
  let number = 0
  const growTo = async (size: number) => {
    for (let last = await logNews(own); ; last = await logNews(own)) {
      if (last.size >= size) return last
      const entries = Array.from({ length: size - last.size }, () => entryNumber(++number))
      await createAppender(deps)(entries)
    }
  }
  const first = await growTo(20)
  trust.push((await described(own)).vkey)
  expect(await monitor()).toEqual([0, first.origin])
  const putBack = await copyLog(own)
  const longer = await growTo(40)
  await putBack()
  await restoreStore(deps)
  expect(await monitor()).toEqual([
    2,
    expect.stringMatching(
      /\/log\/checkpoint answered 503 \(log_rolled_back\): its store was restored, and its operator must renew the log; /,
    ),
  ])

  // Somebody else holds a longer checkpoint than this monitor, and than the store.
  expect(longer.size).toBeGreaterThan(first.size)
  await renewLog(deps, CLI, { note: longer.note })
  expect(await monitor()).toEqual([
    2,
    expect.stringMatching(
      /\/log\/2\/checkpoint answered 404 \(not_found\): a new log has one within seconds; /,
    ),
  ])
  const second = await logNews(own)
  const ended = `${first.origin} ended with ${longer.size} entries and goes on as ${second.origin}`
  const unnamed = [
    1,
    undefined,
    'renewed',
    expect.stringContaining(
      `${ended}; the checkpoint is of the log ${second.origin}, which the policy does not name`,
    ),
  ]
  expect(await monitor()).toEqual(unnamed)
  expect(await monitor(`${own.url}/log`)).toEqual(unnamed)
  trust.push((await described(own)).vkey)
  const again = `${ended}; ${first.size} of the ${first.size} entries that were seen are in it again`
  for (const address of [own.url, `${own.url}/log`]) {
    const file = `${state}.${address.length}`
    await copyFile(state, file)
    await copyFile(`${state}.leaves`, `${file}.leaves`)
    expect(await monitor(address, file)).toEqual([0, second.origin, 'renewed', again])
    await growTo(60 + address.length)
    expect(await monitor(address, file)).toEqual([0, second.origin])
  }
  // One that begins at the old log reads both.
  expect(await monitor(`${own.url}/log`, `${state}.new`)).toEqual([0, second.origin, 'renewed', again])
  expect(await monitor(own.url, `${state}.newer`)).toEqual([0, second.origin])
})

it('stands whatever write is the last of a renewal, and whoever does not know of it', async () => {
  const own = await useService()
  const { deps } = own.composition
  let news = 0
  const happens = () => createAppender(deps)([entryNumber(++news)])
  /** Lets a process die once so many writes are done. */
  const dyingAfter = (writes: number) => {
    let done = 0
    const dies = <Call extends unknown[], T>(write: (...call: Call) => Promise<T>) => {
      return async (...call: Call): Promise<T> => {
        if (done >= writes) throw new Error('killed')
        done += 1
        return write(...call)
      }
    }
    const { stop, begin } = deps.logs
    const audit = { append: dies(deps.audit.append) }
    return { ...deps, audit, logs: { ...deps.logs, stop: dies(stop), begin: dies(begin) } }
  }
  for (let writes = 0; writes < 4; writes += 1) {
    await happens()
    const { origin, size } = await logNews(own)
    const times = [...deps.restores.times()]
    const unaware = { ...deps, restores: { ...deps.restores, times: () => times } }
    const number = (await deps.logs.current())?.number ?? 0
    await restoreStore(deps)
    await expect(renewLog(dyingAfter(writes), CLI)).rejects.toThrow('killed')
    expect(await renewLog(deps, CLI)).toMatchObject({ number: number + 1 })
    await happens()
    await createSequencer(unaware).run()
    const after = await logNews(own)
    expect([after.origin, await deps.logs.current()]).toMatchObject([
      expect.stringMatching(new RegExp(`/log/${number + 1}$`)),
      { number: number + 1 },
    ])
    expect(await deps.logs.find(number)).toMatchObject({ size, rolled_back_at: expect.any(Date) })
    for (const [type, subject] of [
      ['log.rollback_detected', origin],
      ['log.renewed', after.origin],
    ] as const)
      expect(await deps.trail.list({ type, subject, limit: 9 })).toHaveLength(1)
  }

  // One that does not know of the restore signs until the very moment at which the log is stopped.
  const late = await logNews(own)
  const times = [...deps.restores.times()]
  const unaware = { ...deps, restores: { ...deps.restores, times: () => times } }
  const stop: typeof deps.logs.stop = async (...call) => {
    await happens()
    await createSequencer(unaware).run()
    return deps.logs.stop(...call)
  }
  await restoreStore(deps)
  const { follows = '' } = (await renewLog({ ...deps, logs: { ...deps.logs, stop } }, CLI)) ?? {}
  expect(parseCheckpointText(parseNote(follows).text).size).toBeGreaterThan(late.size)
})

it('begins with the checkpoint that the operator names, if the log signed it and the store has no later one', async () => {
  const own = await useService()
  const { connection, deps } = own.composition
  const uri = databaseUri(inject('storeUri'), connection.name)
  const env = { ...TEST_SECRETS, BASE_URL: own.url, MONGODB_URI: uri }
  const { folder } = await useDataDir()
  const renew = async (text: string, ...more: string[]) => {
    const command = ['log', 'renew', '--after', '-', '--json', ...more]
    const { code, json, error } = await cli(command, { env, stdin: text })
    return code === 0 ? [0, json().origin] : [code, error().error, error().message]
  }
  await createAppender(deps)([entryNumber(1)])
  const early = await logNews(own)
  await createAppender(deps)([entryNumber(2)])
  const { note, origin, size } = await logNews(own)
  expect(await renew(note)).toEqual([1, 'log_not_rolled_back', expect.any(String)])
  await restoreStore(deps)
  const later = await smallLog(`${origin}/log/4`)
  const other = await smallLog('log.example.com/n')
  const line = `— witness.example.org ${Buffer.alloc(1000).toString('base64')}\n`
  for (const [text, message, ...more] of [
    [note.replace(`\n${size}\n`, `\n${size + 9}\n`), /signature of .* does not hold/],
    [note.replace(/^— .*$/m, line.trim()), /no key of this store signed .* give it with --vkey/],
    [other.checkpoint(9), /is of the log log.example.com\/n, and not of/],
    [early.note, /the store has a later checkpoint, of \d+ entries, and this one has \d+/],
    [note + line.repeat(60), /the checkpoint has more than 65535 bytes; leave signatures/],
    ['nothing', /the note has no text or no signatures/],
    [later.checkpoint(9), /no key of this store signed/],
    [later.checkpoint(9), /no key of this store signed/, '--vkey', other.vkey],
    [note, /--vkey cannot be used/, '--vkey', 'x'],
  ] as const)
    expect(await renew(text, ...more)).toEqual([2, 'usage', expect.stringMatching(message)])
  expect((await deps.logs.current())?.number).toBe(1)
  const missing = await cli(['log', 'renew', '--after', join(folder, 'none'), '--json'], { env })
  expect([missing.code, missing.error().error]).toEqual([2, 'usage'])
  // As the monitor keeps it.
  expect(await renew(JSON.stringify({ format: 'countersign.monitor/v1', checkpoint: note }))).toEqual([
    0,
    `${origin}/log/2`,
  ])
  await restoreStore(deps)
  // The store is older than the renewals that others know of: their numbers are taken.
  expect(await renew(later.checkpoint(9), '--vkey', later.vkey)).toEqual([0, `${origin}/log/5`])
  expect((await logNews(own)).origin).toBe(`${origin}/log/5`)
})

it('goes on for a log whose store was put back without a word, by a checkpoint that the store contradicts', async () => {
  const own = await useService()
  const { deps, connection } = own.composition
  const putBack = await copyLog(own)
  for (const more of [1, 5]) {
    await createAppender(deps)(Array.from({ length: 3 }, (_, at) => entryNumber(at + 1)))
    const lost = await logNews(own)
    await putBack()
    await createAppender(deps)(Array.from({ length: more }, (_, at) => entryNumber(at + 9)))
    await logNews(own)
    expect(await renewLog(deps, CLI)).toBeUndefined()
    expect(await renewLog(deps, CLI, { note: lost.note })).toMatchObject({
      number: 2,
      follows: lost.note,
    })
    await connection.collection('log_head').deleteMany({})
    await putBack()
  }
})
