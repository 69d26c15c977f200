import { expect, it } from 'vitest'
import { createSequencer, renewLog } from '../../../src/flow/audit/log.ts'
import { proveRecord, readLogState } from '../../../src/flow/audit/read-log.ts'
import { createRelay, NO_LOOPS } from '../../../src/flow/relay/relay.ts'
import { hashOnNode } from '../../../src/signing/digest.ts'
import { inclusionHolds, leafHash } from '../../../src/signing/log/merkle.ts'
import { described, hex, logNews, rootOf, tileOf, unbundle } from '../../support/logs.ts'
import { restoreStore } from '../../support/restored.ts'
import { useService } from '../../support/service.ts'

const CLI = { kind: 'cli' } as const

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
  expect(own.logged.filter(({ message }) => message.startsWith('log_rolled_back'))).toHaveLength(1)

  expect(await renewLog(deps, CLI)).toMatchObject({ origin: `${before.origin}/log/2` })
  expect(await renewLog(deps, CLI)).toBeUndefined()
  const after = await logNews(own)
  expect(after.origin).toBe(`${before.origin}/log/2`)
  expect((await described(own)).vkey).not.toBe(vkey)
  const entries = unbundle(await tileOf(own, `/log/2/tile/entries/000.p/${after.size}`))
  expect(entries[0]?.toString()).toBe(before.note)
  expect([entries.length, rootOf(entries)]).toEqual([after.size, hex(after.root)])
  const leaf = hashOnNode(leafHash(entries[3] ?? Buffer.alloc(0)))
  const proven = await proveRecord(deps, 3)
  expect(hashOnNode(inclusionHolds(leaf, 3, after, proven?.path ?? []))).toBe(true)
  expect(proven?.index).toBe(3)

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
  for (const path of [
    '/log/1/checkpoint',
    '/log/02/checkpoint',
    '/log/4/checkpoint',
    '/log/1/tile/0/000.p/1',
  ])
    expect((await fetch(`${own.url}${path}`)).status, path).toBe(404)
})
