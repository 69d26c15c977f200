import { createPrivateKey } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { packagePath } from '../../src/config/package-path.ts'
import { declaredIndexes } from '../../src/store/schema/indexes.ts'
import { SCHEMA_VERSION } from '../../src/store/schema/migrations.ts'
import { cli } from '../support/cli.ts'
import { assertWith, expectStatus } from '../support/enrolled.ts'
import { createHttpClient } from '../support/http-client.ts'
import { ask, callWithKey, decideByPasskey, type LiveSetting, setUpOwner } from '../support/live.ts'
import { startService, TEST_SECRETS, type TestService } from '../support/service.ts'
import { createSoftAuthenticator } from '../support/soft-authenticator.ts'

/**
 * Stores of earlier schema versions, each as its version wrote it. A new one is added with the first change of documents after a
 * release: WRITE_OLD_STORE=1 npx vitest run test/store/old-stores.test.ts
 */
const STORES = packagePath('test/vectors/stores')
const FILES = ['store.db', 'store.seal', 'secrets.json'] as const

const noteSchema = z.object({
  key: z.string(),
  user_id: z.string(),
  decided: z.string(),
  verified: z.record(z.string(), z.unknown()),
  passkey: z.object({
    id: z.string(),
    rpId: z.string(),
    userHandle: z.string(),
    publicKey: z.string(),
    privateKey: z.string(),
    counter: z.number(),
  }),
})

/** They are beside the store, as those that a first start makes. */
const NO_SECRETS = Object.fromEntries(Object.keys(TEST_SECRETS).map((name) => [name, '']))

const serveOn = (folder: string): Promise<TestService> =>
  startService({ database: 'kept', env: { ...NO_SECRETS, MONGODB_URI: '', DATA_DIR: folder } })

const verifyOf = async (setting: Pick<LiveSetting, 'service' | 'key'>, id: string) =>
  z
    .record(z.string(), z.unknown())
    .parse(await (await callWithKey(setting.service, setting.key, `/${id}/verify`)).json())

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-old-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

it.runIf(process.env.WRITE_OLD_STORE !== undefined)('writes a store of this version', async () => {
  const folder = temporary()
  const service = await serveOn(folder)
  const setting = await setUpOwner(service)
  const [decided, waiting] = [await ask(setting), await ask(setting)]
  expectStatus(await decideByPasskey(setting, decided, 'approved'), 200)
  expect(await (await callWithKey(service, setting.key, `/${waiting}`)).json()).toMatchObject({
    status: 'pending',
  })
  const [passkey] = setting.owner.authenticator.credentials
  if (passkey === undefined) throw new Error('no passkey')
  const { algorithm: _, privateKey, publicKey, ...rest } = passkey
  const note: z.infer<typeof noteSchema> = {
    key: setting.key,
    user_id: setting.owner.userId,
    decided,
    verified: await verifyOf(setting, decided),
    passkey: {
      ...rest,
      publicKey: Buffer.from(publicKey).toString('base64url'),
      privateKey: String(privateKey.export({ format: 'pem', type: 'pkcs8' })),
    },
  }
  await service.close()
  const to = join(STORES, `schema-${SCHEMA_VERSION}`)
  mkdirSync(to, { recursive: true })
  for (const name of FILES)
    writeFileSync(join(to, `${name}.gz`), gzipSync(readFileSync(join(folder, name)), { level: 9 }))
  writeFileSync(join(to, 'note.json'), `${JSON.stringify(note, null, 2)}\n`)
  expect(existsSync(join(folder, 'store.db-wal'))).toBe(false)
})

it.each(readdirSync(STORES))(
  'opens a store of %s, decides in it and verifies what was decided then',
  async (name) => {
    const folder = temporary()
    cpSync(join(STORES, name), folder, { recursive: true })
    for (const file of FILES)
      writeFileSync(join(folder, file), gunzipSync(readFileSync(join(folder, `${file}.gz`))))
    const note = noteSchema.parse(JSON.parse(readFileSync(join(folder, 'note.json'), 'utf8')))
    const service = await serveOn(folder)
    onTestFinished(() => service.close())
    const key = note.key
    const { connection } = service.composition
    for (const { collection, indexes } of declaredIndexes(connection)) {
      const names = (await connection.collection(collection).indexes()).map(({ name }) => name)
      expect(names.sort()).toEqual(['_id_', ...indexes.map(({ name }) => name)].sort())
    }
    expect(await verifyOf({ service, key }, note.decided)).toEqual({
      ...note.verified,
      verified_at: expect.any(String),
    })

    const authenticator = createSoftAuthenticator()
    authenticator.credentials.push({
      ...note.passkey,
      algorithm: -7,
      publicKey: Buffer.from(note.passkey.publicKey, 'base64url'),
      privateKey: createPrivateKey(note.passkey.privateKey),
    })
    const browser = createHttpClient(service.url)
    const { options } = expectStatus(await browser.post('/api/v1/session/passkey/options', {}), 200)
    const credential = assertWith({ authenticator }, service, options)
    const { token } = expectStatus(await browser.post('/api/v1/session/passkey', { credential }), 200)
    const owner = { authenticator, browser, token, userId: note.user_id, email: 'owner@example.com' }
    const asked = await ask({ service, key })
    expectStatus(await decideByPasskey({ service, owner }, asked, 'rejected'), 200)
    expect(await verifyOf({ service, key }, asked)).toMatchObject({ valid: true })
    await service.close()
    const checked = await cli(['audit', 'check', '--json'], { env: { DATA_DIR: folder } })
    expect(checked.json()).toMatchObject({ ok: true, found: 0 })
  },
)
