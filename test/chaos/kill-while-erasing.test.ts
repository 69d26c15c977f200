import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Document } from 'bson'
import { expect, it, onTestFinished } from 'vitest'
import { alter } from '../support/caller.ts'
import { didSomething, sets } from '../support/chaos-points.ts'
import { cliProcess, startCli, useDataDir } from '../support/cli.ts'
import { expectStatus } from '../support/enrolled.ts'
import { makeAccount, newMember } from '../support/invited.ts'
import { ask, decideByPasskey, keyOf, setUpOwner } from '../support/live.ts'
import { databaseUri, startService, TEST_SECRETS } from '../support/service.ts'
import { startStoreProxy, type Trap } from '../support/store-proxy.ts'

const says =
  (type: string) =>
  ({ documents = [] }: Document): boolean =>
    documents.some(({ entry }: Document) => entry?.type === type)

const empties = ({ updates = [] }: Document): boolean =>
  updates.some(({ u }: Document) => 'entry.type' in (u.$unset ?? {}))

const after = { side: 'after', answer: didSomething } as const
const users = { command: 'findAndModify', collection: 'users' } as const
const requests = { command: 'update', collection: 'requests' } as const

/** Between any two steps, in their order: each run gets as far as the next of them. */
const POINTS: readonly Trap[] = [
  { ...users, where: sets('erasing'), ...after },
  { ...users, where: sets('passkeys'), ...after },
  { command: 'findAndModify', collection: 'accounts', where: sets('members'), ...after },
  { ...users, where: sets('name'), side: 'before' },
  { ...requests, where: sets('erased_at'), ...after },
  { ...requests, where: sets('votes'), side: 'before' },
  { ...requests, where: sets('votes'), ...after },
  { command: 'insert', collection: 'audit_log', where: says('audit.erased'), ...after },
  { command: 'update', collection: 'audit_log', where: empties, ...after },
  { ...users, where: sets('erased_at'), side: 'before' },
  { ...users, where: sets('erased_at'), ...after },
]

/** A person with a request of their own, and a vote in the account of another. */
async function setUp(uri: string) {
  const service = await startService({ database: 'erasing', env: { MONGODB_URI: uri } })
  const boss = await setUpOwner(service, 'boss@example.com')
  const owner = await newMember(service, boss.owner, 'ann.gone@example.com')
  await makeAccount(owner)
  const { users, apiKeys } = service.composition.deps
  const accountOf = async (id: string) => (await users.find(id))?.account_id ?? ''
  const ann = { service, owner, key: await keyOf(service, owner.userId) }
  await alter(service, 'accounts', await accountOf(boss.owner.userId), { 'policy.approvers': [owner.userId] })
  const decided = async (by: typeof boss, action: string): Promise<string> => {
    const id = await ask(by, { action })
    expectStatus(await decideByPasskey(ann, id, 'approved', `COMMENT-GONE on ${action}`), 200)
    return id
  }
  const ids = {
    kept: await decided(boss, 'Open the gate'),
    erased: await decided(boss, 'ACTION-GONE'),
    own: await decided(ann, 'OWN-ACTION-GONE'),
  }
  const [key] = await apiKeys.list(await accountOf(owner.userId))
  await service.close()
  return { ids, user_id: owner.userId, key: key?.id ?? '' }
}

/** The texts that stand in any file of the folder, byte for byte. */
async function standingIn(folder: string, texts: readonly string[]): Promise<string[]> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = names.filter((one) => one.isFile())
  const bytes = await Promise.all(files.map((one) => readFile(join(one.parentPath, one.name))))
  return texts.filter((text) => bytes.some((all) => all.includes(text)))
}

it('kill -9 between any two steps of an erasure: the next call ends it as one alone would', async () => {
  const { folder, env: own } = await useDataDir()
  const store = startCli(['store'], { env: own })
  const storeUri = String((await store.line(/MONGODB_URI=(\S+)/))[1])
  const { ids, user_id, key } = await setUp(databaseUri(storeUri, 'erasing'))
  const proxy = await startStoreProxy(storeUri)
  onTestFinished(() => proxy.close())
  const env = { ...own, ...TEST_SECRETS, MONGODB_URI: proxy.uri('erasing') }
  const killedAt = async (trap: Trap, ...words: string[]): Promise<void> => {
    const { child, stop } = startCli(words, { env })
    const ended = new Promise<string>((resolve) =>
      child.once('exit', (code) => resolve(`ended with ${code}`)),
    )
    const how = await Promise.race([proxy.arm(trap, () => child.kill('SIGKILL')).then(() => 'killed'), ended])
    expect([how, words, trap]).toEqual(['killed', words, trap])
    await stop('SIGKILL')
  }
  const run = async (...words: string[]) => {
    const done = await cliProcess([...words, '--json'], { env })
    expect([done.code, done.stderr]).toEqual([0, ''])
    return done.json()
  }
  expect(await run('audit', 'check')).toMatchObject({ findings: [] })
  await killedAt({ ...requests, where: sets('erased_at'), ...after }, 'erase', 'request', ids.erased)
  expect(await run('erase', 'request', ids.erased)).toMatchObject({ erased: false, cards: 0 })
  await run('key', 'revoke', key)
  for (const trap of POINTS) await killedAt(trap, 'erase', 'person', 'ann.gone@example.com')
  const left = { requests: 0, cards: 0, deliveries: 0 }
  const done = await run('erase', 'person', user_id)
  expect(done).toMatchObject({ erased: true, requests: 1, votes: 3, left })
  expect(await run('audit', 'check')).toMatchObject({ findings: [] })
  const told = await run('audit', 'list', '--type', 'user.erased')
  expect(told).toMatchObject({ subject: user_id, detail: { requests: 1, votes: 3, records: done.records } })
  expect((await run('requests', 'show', ids.kept)).action).toBe('Open the gate')
  await store.stop()
  const gone = ['ann.gone', 'COMMENT-GONE', 'ACTION-GONE', 'OWN-ACTION-GONE']
  expect(await standingIn(folder, ['Open the gate', ...gone])).toEqual(['Open the gate'])
})
