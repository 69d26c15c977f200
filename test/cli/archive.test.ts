import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { generateIdentity, identityToRecipient } from 'age-encryption'
import { Binary, type Document, Double, Int32, Long, ObjectId } from 'bson'
import { MongoClient } from 'mongodb'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { cli, cliProcess, startCli, useDataDir } from '../support/cli.ts'
import { START_MS } from '../support/patience.ts'
import { databaseUri } from '../support/service.ts'
import { spoil } from '../support/spoil.ts'
import { startStoreProxy } from '../support/store-proxy.ts'

/** A database of its own beside those of the other tests, reached by the wire protocol. */
async function useDatabase() {
  const name = `archive_${new ObjectId().toHexString()}`
  const uri = databaseUri(inject('storeUri'), name)
  const client = await new MongoClient(uri).connect()
  onTestFinished(async () => {
    await client.db().dropDatabase()
    await client.close()
  })
  return { name, uri, db: client.db() }
}

/** A store that a command made, and an archive of it. */
async function useArchive(words: string[] = [], stdin = '') {
  const { env, folder } = await useDataDir()
  await cli(['user', 'invite', 'a@example.com'], { env })
  const file = join(folder, 'archive')
  const run = await cli(['export', file, '--json', ...words], { env, stdin })
  if (run.code !== 0) throw new Error(run.stderr)
  return { env, folder, file, exported: run.json() }
}

const linesOf = async (file: string) =>
  gunzipSync(await readFile(file))
    .toString('utf8')
    .split('\n')

it('carries every type and more than one batch over unchanged, and goes on after kill -9 wherever that came', async () => {
  const from = await useDatabase()
  const to = await useDatabase()
  const { env, folder } = await useDataDir()
  const there = { ...env, MONGODB_URI: from.uri }
  await cli(['user', 'invite', 'a@example.com'], { env: there })
  await from.db.collection<{ _id: number }>('kept').insertMany(
    Array.from({ length: 1250 }, (_, n) => ({
      _id: n,
      2: new Double(n),
      1: new Double(n / 3),
      count: new Int32(n),
      long: Long.fromNumber(n).shiftLeft(40),
      edge: [Number.NaN, -0, Number.NEGATIVE_INFINITY, null, true, '  "ü\n'],
      at: new Date(n),
      bytes: new Binary(Buffer.from([n % 256, 10]), 0),
      id: new ObjectId(),
      list: [[], {}, [{ deep: [n] }]],
    })),
  )
  const file = join(folder, 'archive')
  const exported = await cli(['export', file, '--json'], { env: there })
  expect(exported.json()).toMatchObject({ collections: { kept: 1250, users: 1 }, encrypted: false })

  const proxy = await startStoreProxy(inject('storeUri'))
  onTestFinished(() => proxy.close())
  const here = { ...env, MONGODB_URI: proxy.uri(to.name) }
  const points = [
    { command: 'insert', collection: 'schema', side: 'after' },
    { command: 'insert', collection: 'kept', side: 'before', nth: 2 },
    { command: 'insert', collection: 'users', side: 'after' },
    // Not the renewal of the lease.
    {
      command: 'update',
      collection: 'schema',
      side: 'before',
      where: ({ updates }: Document) => 'step' in updates[0].u.$set,
    },
    { command: 'createIndexes', collection: 'users', side: 'after' },
    { command: 'delete', collection: 'schema', side: 'before' },
  ] as const
  const underWay = {
    error: 'import_under_way',
    message: expect.stringMatching(/^Another process imports into this store, or died .* in a minute\.$/),
  }
  // Cut off from its store here and there, an import leaves what one that was killed would leave.
  for (const point of points) {
    void proxy.arm(point, () => undefined)
    expect([point, (await cli(['import', file], { env: here })).code]).toEqual([point, 1])
    const use = await cli(['user', 'list', '--json'], { env: { ...env, MONGODB_URI: to.uri } })
    expect(use.error()).toEqual({
      error: 'import_unfinished',
      message: expect.stringMatching(/did not finish.* Run it again.*: countersign import <file>$/),
    })
    if (point.collection !== 'kept') continue
    const running = startCli(['import', file], { env: here })
    await proxy.arm({ ...point, side: 'after' }, () => running.child.kill('SIGKILL'))
    await running.stop('SIGKILL')
    expect(await to.db.collection('kept').countDocuments()).toBe(1000)
    expect((await cli(['import', file, '--json'], { env: here })).error()).toEqual(underWay)
    // As half a minute later.
    await to.db.collection('schema').updateMany({}, { $set: { until: new Date(0) } })
  }
  const other = await useArchive()
  const foreign = await cli(['import', other.file, '--json'], { env: { ...env, MONGODB_URI: to.uri } })
  expect(foreign.error()).toMatchObject({
    error: 'import_unfinished',
    message: expect.stringContaining('another archive'),
  })

  const stuck = new Promise<void>((resolve) =>
    // It takes the lease.
    proxy.watch('update', 'schema', () => {
      proxy.line('frozen')
      resolve()
    }),
  )
  const importing = cliProcess(['import', file, '--json'], { env: here })
  await stuck
  const second = await cli(['import', file, '--json'], { env: { ...env, MONGODB_URI: to.uri } })
  expect(second.error()).toEqual(underWay)
  proxy.watch('update', 'schema', () => undefined)
  proxy.line('open')
  const ended = await importing
  expect([ended.code, ended.stderr]).toEqual([0, ''])
  expect(ended.json()).toMatchObject({ audit: { ok: true }, secrets_missing: [], secrets_open: true })
  const back = join(folder, 'back')
  await cli(['export', back], { env: { ...env, MONGODB_URI: to.uri } })
  const contents = async (name: string) => (await linesOf(name)).slice(1, -2)
  const isMark = (line: string) => /^\{"_id":"cpy_|^\{"part":"restores"/.test(line)
  const kept = await contents(back)
  expect(kept.filter((line) => !isMark(line))).toEqual(await contents(file))
  expect(kept.filter(isMark)).toHaveLength(2)
  const indexes = async (db: typeof to.db) => await db.collection('users').listIndexes().toArray()
  expect(await indexes(to.db)).toEqual(await indexes(from.db))

  const again = await cli(['import', file, '--json'], { env: here })
  expect(again.error()).toEqual({
    error: 'store_not_empty',
    message: expect.stringMatching(
      /^The store is not empty \(.* has documents\), .* new database in MONGODB_URI/,
    ),
  })
})

it('refuses an archive that is damaged, cut short, changed or foreign before it writes anything', async () => {
  const { file, folder } = await useArchive()
  const whole = await readFile(file)
  const lines = await linesOf(file)
  const packed = (changed: string[]) => gzipSync(changed.join('\n'))
  const changed = (index: number, from: string | RegExp, to: string) =>
    packed(lines.map((line, at) => (at === index ? line.replace(from, to) : line)))
  const end = lines.length - 2
  const flipped = (at: number) => whole.with(at, (whole[at] ?? 0) ^ 1)
  /** An archive whose checksums are right. */
  const newer = () => {
    const [manifest = '', ...rest] = lines.map((line) =>
      line.replace(/"schema_version":\d+/, '"schema_version":9999'),
    )
    const control = [manifest, ...rest.filter((line) => line.startsWith('{"part"'))]
    const sha256 = createHash('sha256')
      .update(`${control.join('\n')}\n`)
      .digest('hex')
    return packed([manifest, ...rest.slice(0, -2), JSON.stringify({ archive: { sha256 } }), ''])
  }
  const spoilt: [string, Uint8Array, RegExp][] = [
    ['a flipped bit', flipped(whole.length >> 1), /damaged/],
    ['a flipped bit of its checksum', flipped(whole.length - 6), /damaged/],
    ['half of it', whole.subarray(0, whole.length >> 1), /cut short|damaged/],
    ['all but a byte', whole.subarray(0, -1), /cut short/],
    ['nothing', Buffer.alloc(0), /not an archive of Countersign/],
    ['another file', gzipSync('{"a":1}\n'), /not an archive of Countersign/],
    ['a text', Buffer.from('hello'), /not an archive of Countersign/],
    ['no end', packed([...lines.slice(0, end), '']), /cut short/],
    ['a line less', packed(lines.toSpliced(1, 1)), /damaged/],
    ['a line more', packed([...lines.slice(0, -1), '{}', '']), /something follows its end/],
    ['a line without its end', packed(lines.slice(0, end)), /cut short/],
    [
      'another name',
      changed(
        lines.findIndex((line) => line.includes('a@example.com')),
        'a@ex',
        'b@ex',
      ),
      /damaged: users does not match/,
    ],
    ['another time', changed(0, /"copied_at":"20../, '"copied_at":"2031'), /does not match its checksum/],
    ['another count', changed(0, /"documents":1\b/, '"documents":2'), /damaged/],
    [
      'the next format',
      changed(0, '"countersign_archive":1', '"countersign_archive":2'),
      /newer version wrote it \(format 2\)/,
    ],
    ['documents of a later version', newer(), /: a newer version wrote it; import/],
    ['no form', changed(0, '"countersign_archive":1', '"countersign_archive":1,"store":1'), /damaged/],
  ]
  for (const [what, bytes, told] of spoilt) {
    const name = join(folder, 'spoilt')
    await writeFile(name, bytes)
    const target = join(folder, 'target')
    const run = await cli(['import', name, '--json'], { env: { DATA_DIR: target } })
    expect({ what, code: run.code, ...run.error() }).toEqual({
      what,
      code: 1,
      error: 'archive_unusable',
      message: expect.stringMatching(told),
    })
    expect(run.error().message).toMatch(/spoilt cannot be imported: .*\. Nothing was written\.$/)
    expect(existsSync(target)).toBe(false)
  }
})

it('keeps the secrets out of an archive that anyone can read, and in one that is encrypted', async () => {
  const { file, folder, env, exported } = await useArchive()
  const secrets = JSON.parse(await readFile(join(env.DATA_DIR ?? '', 'secrets.json'), 'utf8'))
  const names = Object.keys(secrets)
  const text = (await linesOf(file)).join('\n')
  for (const secret of Object.values<string>(secrets)) expect(text).not.toContain(secret)
  expect(exported).toMatchObject({ encrypted: false, secrets: false })
  const bare = { DATA_DIR: join(folder, 'bare') }
  expect((await cli(['import', file, '--json'], { env: bare })).json()).toMatchObject({
    secrets_missing: names,
    secrets_open: false,
  })
  expect((await cli(['user', 'list', '--json'], { env: bare })).error().message).toMatch(
    /secrets\.json is missing/,
  )
  await writeFile(join(bare.DATA_DIR, 'secrets.json'), JSON.stringify(secrets))
  expect((await cli(['user', 'list', '--json'], { env: bare })).json().data).toHaveLength(1)

  const passphrase = 'correct horse battery staple'
  const sealed = await useArchive(['--encrypt'], `${passphrase}\n`)
  expect(sealed.exported).toMatchObject({ encrypted: true, secrets: true, secrets_missing: [] })
  expect((await readFile(sealed.file)).toString('latin1')).toMatch(/^age-encryption\.org\/v1\n-> scrypt /)
  const target = { DATA_DIR: join(folder, 'target') }
  const load = (stdin: string, more = {}) =>
    cli(['import', sealed.file, '--json'], { env: { ...target, ...more }, stdin })
  expect((await load('wrong horse battery staple')).error()).toEqual({
    error: 'archive_locked',
    message: 'The passphrase does not open this archive.',
  })
  expect((await load('')).error()).toMatchObject({ error: 'usage' })
  const other = (await load(passphrase, { SEALING_KEY: secrets.SEALING_KEY })).error()
  expect(other).toEqual({ error: 'secrets_differ', message: expect.stringMatching(/^SEALING_KEY: differs/) })
  expect(existsSync(target.DATA_DIR)).toBe(false)
  expect((await load(passphrase)).json()).toMatchObject({ secrets_missing: [], secrets_open: true })
  expect((await cli(['user', 'list', '--json'], { env: target })).json().data).toHaveLength(1)
})

it('encrypts for the owners of keys, and refuses whatever they did not get', async () => {
  const [mine, yours, foreign] = await Promise.all([
    generateIdentity(),
    generateIdentity(),
    generateIdentity(),
  ])
  const recipients = await Promise.all([mine, yours].map(identityToRecipient))
  const words = recipients.flatMap((recipient) => ['--recipient', recipient])
  const { file, folder, exported } = await useArchive(words)
  expect(exported).toMatchObject({ encrypted: true, secrets: true })
  const bytes = await readFile(file)
  const keys = join(folder, 'keys')
  const target = join(folder, 'target')
  const load = async (key: string | undefined, archive: Uint8Array = bytes) => {
    await writeFile(keys, `# created: 2031-01-01\n${key}\n`)
    await writeFile(join(folder, 'given'), archive)
    const by = key === undefined ? [] : ['--identity', keys]
    const run = await cli(['import', join(folder, 'given'), '--json', ...by], { env: { DATA_DIR: target } })
    return run.code === 0 ? 'imported' : run.error().error
  }
  expect(await load(undefined)).toBe('identity_missing')
  expect(await load(foreign)).toBe('archive_locked')
  expect(await load('AGE')).toBe('usage')
  for (const at of [30, 60, 500, bytes.length - 1])
    expect([at, await load(yours, bytes.with(at, (bytes[at] ?? 0) ^ 1))]).toEqual([
      at,
      expect.stringMatching(/^archive_(unusable|locked)$/),
    ])
  for (const end of [100, 400, bytes.length - 1])
    expect([end, await load(yours, bytes.subarray(0, end))]).toEqual([end, 'archive_unusable'])
  expect(existsSync(target)).toBe(false)
  expect(await load(yours)).toBe('imported')
  for (const [wrong, told] of [
    [['--recipient', 'age1x'], /"age1x" is not a recipient of age/],
    [['--recipient', recipients[0] ?? '', '--encrypt'], /either --encrypt, .* or --recipient/],
  ] as const) {
    const run = await cli(['export', join(folder, 'none'), '--json', ...wrong], { env: { DATA_DIR: target } })
    expect([run.code, run.error()]).toEqual([2, { error: 'usage', message: expect.stringMatching(told) }])
  }
  const kept = await cli(['export', file, '--json'], { env: { DATA_DIR: target } })
  expect(kept.error()).toEqual({ error: 'file_exists', message: `${file} exists; name a new file.` })
  await writeFile(join(folder, 'killed.part'), '')
  const killed = await cli(['export', join(folder, 'killed'), '--json'], { env: { DATA_DIR: target } })
  expect(killed.error()).toMatchObject({
    error: 'file_exists',
    message: expect.stringMatching(/killed\.part exists; another export .* delete it/),
  })
})

it('archives a store that has no snapshots only while no service works on it, and asks a replica set for one', async () => {
  const { name, uri, db } = await useDatabase()
  const { env, folder } = await useDataDir()
  const here = { ...env, MONGODB_URI: uri }
  await cli(['user', 'invite', 'a@example.com'], { env: here })
  await db.collection('jobs').insertOne({ name: 'relay', lastRunAt: new Date() })
  let ended = false
  const exporting = cli(['export', join(folder, 'used'), '--json'], { env: here }).finally(() => {
    ended = true
  })
  const work = async (): Promise<boolean> => {
    await db.collection('jobs').updateOne({}, { $set: { lastRunAt: new Date() } })
    return ended
  }
  await vi.waitUntil(work, { timeout: START_MS, interval: 100 })
  expect((await exporting).error()).toEqual({
    error: 'store_in_use',
    message: expect.stringMatching(/^A service runs on this store.*stop every process/),
  })
  expect(existsSync(join(folder, 'used'))).toBe(false)

  const proxy = await startStoreProxy(inject('storeUri'))
  onTestFinished(() => proxy.close())
  const isSet = (reply: Document, command: string | undefined) =>
    command === 'hello' ? { ...reply, setName: 'rs0' } : undefined
  proxy.play({ after: isSet })
  const asked: unknown[] = []
  proxy.watch('aggregate', 'accounts', ({ readConcern }) => void asked.push(readConcern))
  const replicated = { ...env, MONGODB_URI: proxy.uri(name) }
  const run = await cli(['export', join(folder, 'snapshot'), '--json'], { env: replicated })
  // The store behind the proxy refuses what only a replica set can do.
  expect([run.code, run.stderr]).toEqual([1, expect.stringMatching(/snapshot/i)])
  expect(asked).toEqual([{ level: 'snapshot' }])
  const gone = { ok: 0, code: 239, codeName: 'SnapshotTooOld', errmsg: 'too old' }
  proxy.play({
    after: (reply, command) => (command === 'aggregate accounts' ? gone : isSet(reply, command)),
  })
  expect((await cli(['export', join(folder, 'late'), '--json'], { env: replicated })).error()).toEqual({
    error: 'snapshot_lost',
    message: expect.stringContaining('minSnapshotHistoryWindowInSeconds'),
  })
})

it('saves from a damaged store what is whole, and lists what is not', async () => {
  const { env, folder } = await useDataDir()
  for (const name of ['Ada', 'Bertha']) {
    const run = await cli(['user', 'invite', `${name.toLowerCase()}@example.com`, '--name', name], { env })
    expect(run.code).toBe(0)
  }
  await spoil(env.DATA_DIR ?? '', 'Bertha')
  const file = join(folder, 'archive')
  expect((await cli(['export', file, '--json'], { env })).error()).toMatchObject({
    error: 'store_unusable',
    message: expect.stringContaining('is damaged'),
  })
  const saved = await cli(['export', file, '--salvage', '--json'], { env })
  expect([saved.code, saved.stderr]).toEqual([0, ''])
  const { lost, collections } = saved.json()
  expect(lost).toEqual([
    { collection: 'users', what: expect.stringMatching(/^document "usr_/), documents: 1 },
    { collection: 'accounts', what: expect.stringMatching(/^document "acc_/), documents: 1 },
  ])
  expect(collections).toMatchObject({ accounts: 1, users: 1, enrollments: 2, signing_keys: 5 })
  expect((await readdir(env.DATA_DIR ?? '')).filter((name) => name.startsWith('export-'))).toEqual([])
  const words = await cli(['export', `${file}2`, '--salvage'], { env })
  expect(words.stdout).toMatch(
    /\nNot whole in the store, .*:\n {2}users: document "usr_\w+"\n {2}accounts: document "acc_\w+"\n/,
  )

  const target = { DATA_DIR: join(folder, 'target') }
  const moved = await cli(['import', file, '--move', '--json'], { env: target })
  expect(moved.error()).toEqual({ error: 'salvaged', message: expect.stringContaining('without --move') })
  expect((await cli(['import', file, '--json'], { env: target })).json().documents).toBe(
    Object.values<number>(collections).reduce((sum, many) => sum + many),
  )
  await copyFile(join(env.DATA_DIR ?? '', 'secrets.json'), join(target.DATA_DIR, 'secrets.json'))
  const people = await cli(['user', 'list', '--json'], { env: target })
  expect(people.json().data).toMatchObject([{ email: 'ada@example.com' }])

  const elsewhere = { ...env, MONGODB_URI: (await useDatabase()).uri }
  const refused = await cli(['export', `${file}3`, '--salvage', '--json'], { env: elsewhere })
  expect(refused.error()).toMatchObject({ error: 'not_embedded' })

  // The page that says where everything else is.
  const store = join(env.DATA_DIR ?? '', 'store.db')
  const bytes = await readFile(store)
  bytes[100] = (bytes[100] ?? 0) ^ 1
  await writeFile(store, bytes)
  const pieced = await cli(['export', `${file}4`, '--salvage', '--json'], { env })
  expect(pieced.json()).toMatchObject({ lost, collections })
  await writeFile(store, Buffer.alloc(bytes.length))
  expect((await cli(['export', `${file}5`, '--salvage', '--json'], { env })).error()).toEqual({
    error: 'not_salvageable',
    message: expect.stringMatching(/^Nothing can be saved from .* restore a backup\.$/),
  })
})
