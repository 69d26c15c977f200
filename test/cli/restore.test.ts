import { copyFile, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { type CliRun, cli, useDataDir } from '../support/cli.ts'
import { expectStatus, linkToken } from '../support/enrolled.ts'
import { type Answer, createHttpClient } from '../support/http-client.ts'
import { freePort } from '../support/service.ts'
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts'
import { createSoftAuthenticator } from '../support/soft-authenticator.ts'

/** How the log of that name goes on. */
const renewal = (origin: string) =>
  `Ask witnesses and monitors for their last checkpoint of ${origin}. Then: countersign log renew --after <its file>, or --after none if nobody has one (docs/proof.md)`

/** A service in a process of its own with an owner and a key, of which a copy is made and restored. */
async function useRestorable() {
  const { folder, env: data } = await useDataDir()
  const port = await freePort()
  const url = `http://localhost:${port}`
  const env = { ...data, PORT: String(port), CALLBACK_ALLOW_PRIVATE: '1' }
  const authenticator = createSoftAuthenticator()
  let browser = createHttpClient(url)
  let service: ServiceProcess = await startServiceProcess(env)
  const [, token] = await service.line(/\/setup#([\w-]+)/)
  const person = { token, email: 'ann@example.com', name: 'Ann' }
  const { options } = expectStatus(await browser.post('/api/v1/enrollment/passkey/options', person), 200)
  const credential = authenticator.register(options, { origin: url })
  const enrolled = { token, passkey_name: 'laptop', credential }
  expectStatus(await browser.post('/api/v1/enrollment/passkey', enrolled), 201)
  const keyOf = async (sandbox: boolean) =>
    expectStatus(await browser.post('/api/v1/account/api-keys', { name: 'bot', sandbox }), 201).raw_key
  const keys = { live: await keyOf(false), sandbox: await keyOf(true) }
  const call = (path: string, body?: unknown, key = keys.live): Promise<Answer> => {
    const options = { headers: { Authorization: `Bearer ${key}` }, origin: null }
    return body === undefined ? browser.get(path, options) : browser.post(path, body, options)
  }
  return {
    env,
    folder,
    keys,
    call,
    browser: () => browser,
    ask: async (action: string): Promise<string> =>
      expectStatus(await call('/api/v1/approvals/request', { action }), 201).id,
    async decide(id: string, decision: 'approved' | 'rejected'): Promise<Answer> {
      const asked = await browser.post(`/api/v1/approvals/${id}/decision/options`, { decision })
      if (asked.status !== 200) return asked
      const passkey = authenticator.authenticate(asked.body.options, { origin: url })
      return browser.post(`/api/v1/approvals/${id}/decision`, { decision, passkey })
    },
    consume: (id: string, key = keys.live) => call(`/api/v1/approvals/${id}/consume`, {}, key),
    run: (...arguments_: string[]): Promise<CliRun> => cli([...arguments_, '--json'], { env }),
    async signIn(): Promise<void> {
      browser = createHttpClient(url)
      const { options } = expectStatus(await browser.post('/api/v1/session/passkey/options', {}), 200)
      const credential = authenticator.authenticate(options, { origin: url })
      expectStatus(await browser.post('/api/v1/session/passkey', { credential }), 200)
    },
    stop: () => service.end('SIGTERM'),
    async start(): Promise<void> {
      service = await startServiceProcess(env)
    },
    /** As the command that made the file says. */
    async restore(file: string): Promise<void> {
      await service.end('SIGTERM')
      const dataDir = data.DATA_DIR ?? ''
      for (const name of await readdir(dataDir)) if (name.startsWith('store.')) await rm(join(dataDir, name))
      await copyFile(file, join(dataDir, 'store.db'))
      service = await startServiceProcess(env)
    },
  }
}

const HELD = {
  status: 409,
  body: {
    error: 'held_after_restore',
    message:
      'This service was restored from a backup. This request may have been decided, or its approval used, after the backup was made, so it is held until the operator confirms it (`countersign restore confirm`). Nothing was changed.',
  },
}

it('what a copy left open is neither decided nor used after its restore without the word of the operator', async () => {
  const { ask, decide, consume, call, run, ...there } = await useRestorable()
  const [rejected, withdrawn, single, unused, alone] = [
    await ask('Pay'),
    await ask('Delete'),
    await ask('Deploy'),
    await ask('Restart'),
    await ask('Rotate'),
  ]
  for (const id of [unused, alone]) expectStatus(await decide(id, 'approved'), 200)
  const dry = expectStatus(
    await call(
      '/api/v1/approvals/request',
      { action: 'Try', sandbox_auto_decide_seconds: 1 },
      there.keys.sandbox,
    ),
    201,
  ).request_id
  const hook = await freePort()
  const called = expectStatus(
    await call('/api/v1/approvals/request', { action: 'Call', callback_url: `http://127.0.0.1:${hook}/` }),
    201,
  ).id
  expectStatus(await decide(called, 'approved'), 200)
  const deliveries = () => there.browser().get(`/api/v1/approvals/${called}/deliveries`)
  // Nobody listens yet, so it is due again.
  await expect
    .poll(async () => (await deliveries()).body.data?.[0]?.attempts)
    .toContainEqual(expect.objectContaining({ outcome: 'connect_failed' }))
  const link = (await run('user', 'invite', 'bob@example.com')).json()
  const { head } = (await run('audit', 'check')).json()
  const file = join(there.folder, 'copy.db')
  expect((await run('backup', '--to', file)).code).toBe(0)
  // The audit trail of what follows is lost with the store that the copy replaces.
  expectStatus(await decide(rejected, 'rejected'), 200)
  expectStatus(await consume(unused), 200)
  const used = () => run('audit', 'list', '--type', 'approval.consumed', '--subject', unused)
  await expect.poll(async () => (await used()).stdout).toMatch(/"seq":\d/)
  const newer = (await run('audit', 'check')).json().head
  const lost = (await call(`/api/v1/approvals/${rejected}`)).body
  const early = (await call(`/api/v1/approvals/${unused}`)).body
  const session = there.browser()
  const logged = async () => (await run('log', 'status')).json().log
  await expect.poll(logged).toMatchObject({ behind: 0, rolled_back: false })
  const { origin } = await logged()
  await there.restore(file)

  // Others may hold checkpoints that the copy does not have.
  expect(await call('/log/checkpoint')).toMatchObject({ status: 503, body: { error: 'log_rolled_back' } })
  await expect.poll(logged).toMatchObject({ origin, rolled_back: true })
  expect((await run('audit', 'list', '--type', 'log.rollback_detected')).stdout).toContain(origin)
  const { code: sick, stdout: examined } = await run('doctor')
  expect([sick, JSON.parse(examined).checks.find(({ name }: { name: string }) => name === 'Log')]).toEqual([
    1,
    {
      name: 'Log',
      status: 'fail',
      detail: `log_rolled_back: the store was restored, or others hold a larger checkpoint of ${origin}; it signs nothing more`,
      fix: renewal(origin),
    },
  ])
  expect(await session.get('/api/v1/me/pending')).toMatchObject({ status: 401 })
  const opened = await session.post('/api/v1/enrollment/lookup', { token: linkToken(link.enroll_url) })
  expect(opened.status).toBe(410)
  await there.signIn()
  for (const decision of ['approved', 'rejected'] as const)
    expect(await decide(rejected, decision)).toMatchObject(HELD)
  expect(await consume(unused)).toMatchObject(HELD)
  expect(await call(`/api/v1/approvals/${rejected}/remind`, {})).toMatchObject(HELD)
  const review = await there.browser().get(`/api/v1/approvals/${rejected}/review`)
  expect(review.body).toMatchObject({ may_decide: false, why_not: 'held_after_restore', held: true })
  const approved = () => there.browser().get(`/api/v1/approvals/${unused}/review`)
  expect((await approved()).body).toMatchObject({ status: 'approved', held: true })
  const inbox = (await there.browser().get('/api/v1/me/pending')).body.data
  expect(inbox).toContainEqual(
    expect.objectContaining({ id: rejected, held: true, may_decide: false, methods: [] }),
  )
  const batch = { items: [rejected, single].map((id) => ({ id, decision: 'approved' })) }
  expect(await there.browser().post('/api/v1/approvals/decisions/options', batch)).toMatchObject({
    status: 409,
    body: { error: 'held_after_restore', ids: [rejected, single] },
  })
  const waited = await call(`/api/v1/approvals/${dry}/wait?timeout=2`, undefined, there.keys.sandbox)
  expect(waited.body).toMatchObject({ status: 'pending', sandbox: true })

  const calls: string[] = []
  const receiver = createServer((request, response) => {
    calls.push(String(request.headers['webhook-id']))
    response.end()
  })
  onTestFinished(() => void receiver.close())
  await new Promise<void>((resolve) => receiver.listen(hook, '127.0.0.1', resolve))
  const [delivery] = (await deliveries()).body.data
  expect(delivery).toMatchObject({ state: 'dropped' })
  expect(delivery.attempts.at(-1)).toMatchObject({ outcome: 'interrupted' })

  // What is asked from here on is not held.
  const later = await ask('Later')
  expectStatus(await decide(later, 'approved'), 200)
  expectStatus(await consume(later), 200)
  expect((await call(`/api/v1/approvals/${later}/verify`)).body.caution).toBeUndefined()

  const status = (await run('restore', 'status')).json()
  const set_aside = { callbacks: 1, pushes: 0, cards: 0 }
  expect(status).toMatchObject({ held: true, pending: 4, approved: 3, set_aside })
  expect(status.requests.map(({ id }: { id: string }) => id)).toEqual(
    expect.arrayContaining([rejected, unused]),
  )
  const { checks } = (await run('doctor')).json()
  expect(checks.find(({ name }: { name: string }) => name === 'Restore')).toMatchObject({
    status: 'warn',
    detail: expect.stringMatching(
      /; 4 pending requests and 3 unused approvals of that copy are held; set aside: 1 callback, 0 notifications and 0 cards$/,
    ),
    fix: expect.stringMatching(
      /key revoke key_\w+ .*\(bot\)[\s\S]*user reset ann@example\.com[\s\S]*restore confirm$/,
    ),
  })
  const [entry] = (await run('audit', 'list', '--type', 'store.restored')).stdout.split('\n')
  expect(JSON.parse(entry ?? '')).toMatchObject({
    actor: { kind: 'service' },
    detail: { copied_by: 'backup', copied_on: expect.stringMatching(/.@./), copied_at: expect.any(String) },
  })
  expect((await run('audit', 'check', '--expect', head)).code).toBe(0)
  for (const option of ['--expect', '--since'])
    expect((await run('audit', 'check', option, newer)).json()).toMatchObject({
      ok: false,
      findings: expect.arrayContaining([
        expect.objectContaining({
          code: 'rewritten',
          message: expect.stringMatching(
            /was rewritten\. On \S+Z the store was restored from a copy of \S+Z \(record \d+\), which explains this if the head was noted after that copy\.$/,
          ),
        }),
      ]),
    })

  // By request, beside the running service.
  const other = await run('restore', 'confirm', single, later)
  expect([other.code, other.json()]).toEqual([1, { withdrawn: [], released: [single], not_held: [later] }])
  expectStatus(await decide(single, 'approved'), 200)
  expect(await decide(rejected, 'approved')).toMatchObject(HELD)
  expect((await run('restore', 'confirm', '--withdraw-open', withdrawn)).json().withdrawn).toEqual([
    withdrawn,
  ])
  expect((await call(`/api/v1/approvals/${withdrawn}`)).body.status).toBe('expired')
  expect((await run('restore', 'confirm', alone)).json().released).toEqual([alone])
  expectStatus(await consume(alone), 200)
  expect(await consume(unused)).toMatchObject(HELD)

  // All that is left; a restart in between forgets nothing.
  await there.stop()
  for (const command of [
    ['log', 'status'],
    ['restore', 'status'],
  ])
    expect((await cli(command, { env: there.env })).stdout).toContain(
      `\nThe log was rolled back and signs nothing more. ${renewal(origin)}\n`,
    )
  // A renewal after an older checkpoint than a witness holds could not be taken back.
  for (const more of [[], ['--after', 'none', '--vkey', 'x']]) {
    const refused = await run('log', 'renew', ...more)
    expect([refused.code, refused.error().error]).toEqual([2, 'usage'])
  }
  expect(await logged()).toMatchObject({ origin, rolled_back: true })
  const stopped = await run('log', 'renew', '--after', 'none')
  expect([stopped.code, stopped.json()]).toEqual([0, { ok: true, origin: `${origin}/log/2`, number: 2 }])
  expect(await logged()).toMatchObject({
    origin: `${origin}/log/2`,
    size: 0,
    signed_at: null,
    rolled_back: false,
  })
  await there.start()
  await expect.poll(logged).toMatchObject({ behind: 0, signed_at: expect.any(String), rolled_back: false })
  expect((await call('/log/2/checkpoint')).status).toBe(200)
  expect((await run('log', 'renew', '--after', 'none')).error().error).toBe('log_not_rolled_back')
  // A callback that nobody takes is one entry more at any time.
  const told = async () => (await cli(['log', 'status'], { env: there.env })).stdout
  await expect
    .poll(told)
    .toMatch(
      new RegExp(
        `^Log ${origin}/log/2\nRecords: \\d+, and 0 of the audit trail .*\nLast checkpoint: \\S+Z\\.$`,
        'm',
      ),
    )
  expect(await consume(unused)).toMatchObject(HELD)
  expect((await run('restore', 'confirm')).json()).toEqual({
    lifted: true,
    withdrawn: 0,
    pending: 2,
    approved: 2,
  })
  expect((await run('restore', 'confirm')).error()).toMatchObject({ error: 'nothing_held' })
  expect((await approved()).body).not.toHaveProperty('held')
  expectStatus(await consume(unused), 200)
  expectStatus(await decide(rejected, 'approved'), 200)
  expect((await call(`/api/v1/approvals/${rejected}/verify`)).body).toMatchObject({
    valid: true,
    decision: 'approved',
    caution: expect.stringMatching(
      /^The store was restored on .* from a copy of .* in which this request was pending: another decision on it may/,
    ),
  })
  // Offline, by the published key set: of both receipts of the one request.
  const keySet = (await call('/.well-known/jwks.json')).body
  expect(keySet.restores).toEqual([{ copied_at: expect.any(Number), restored_at: expect.any(Number) }])
  const [receipt, jwks] = [join(there.folder, 'receipt.json'), join(there.folder, 'jwks.json')]
  await writeFile(jwks, JSON.stringify(keySet))
  const offline = async (answer: object) => {
    await writeFile(receipt, JSON.stringify(answer))
    return (await run('verify', receipt, '--jwks', jwks)).json().caution
  }
  const now = async (id: string) => (await call(`/api/v1/approvals/${id}`)).body
  const since = 'The store was restored on \\S+Z from a copy of \\S+Z'
  // One signed so shortly before may have been stored after the copy was made, for all that a verifier can know.
  for (const answer of [lost, early, await now(unused)])
    expect(await offline(answer)).toMatch(new RegExp(`^${since}\\. This receipt may be missing in that copy`))
  const redecided = await now(rejected)
  expect(await offline(redecided)).toMatch(new RegExp(`^${since} in which this request was pending`))
  const { intent: _left, ...bare } = redecided.decision
  expect(await offline(bare)).toContain(`ask GET /api/v1/approvals/${rejected}/verify`)
  expect(await offline(await now(later))).toBeUndefined()
  expect((await run('audit', 'check')).json()).toMatchObject({ ok: true })
  expect((await run('doctor')).stdout).not.toContain('Restore')
  // The callback was not sent by itself, in all this time; its owner may replay it.
  expect(calls).toEqual([])
  expectStatus(await there.browser().post(`/api/v1/deliveries/${delivery.id}/replay`, {}), 200)
  await expect.poll(() => calls).toEqual([delivery.event_id])
  await there.stop()
})

it('a copy that another tool made is held once the operator says so, and once only, however often the start is repeated', async () => {
  const { env } = await useDataDir()
  const run = async (...arguments_: string[]) => {
    const { code, stdout, stderr } = await cli([...arguments_, '--json'], { env })
    return code === 0 ? JSON.parse(stdout) : { code, ...JSON.parse(stderr) }
  }
  await run('user', 'invite', 'ann@example.com')
  expect(await run('restore', 'status')).toEqual({ held: false })
  for (const time of ['yesterday', '2999-01-01T00:00:00Z'])
    expect(await run('restore', 'mark', '--copied-at', time)).toMatchObject({ code: 2, error: 'usage' })
  expect(await run('log', 'status')).toMatchObject({ log: { rolled_back: false } })
  const copied_at = '2026-03-04T09:30:00.000Z'
  const { id } = await run('restore', 'mark', '--copied-at', copied_at)
  // A look changes nothing: only a start, or the next command that writes, takes the copy up.
  const held = { held: true, restore: { id, copied_by: 'operator', copied_at }, pending: 0, approved: 0 }
  const unseen = { ...held, restore: { ...held.restore, restored_at: null } }
  expect(await run('restore', 'status')).toMatchObject(unseen)
  expect(await run('log', 'status')).toMatchObject({ log: { rolled_back: true } })
  expect((await cli(['restore', 'status'], { env })).stdout).toMatch(
    /^This store is a copy of 2026-03-04T09:30:00\.000Z \(operator, \S+\) that was not started yet\.\nThe first start will hold: 0 pending/,
  )
  expect((await cli(['doctor'], { env })).stdout).toContain(
    `not started yet: a copy of ${copied_at}; 0 pending requests and 0 unused approvals of that copy will be held`,
  )
  const recorded = async () =>
    (await cli(['audit', 'list', '--type', 'store.restored', '--json'], { env })).stdout.trim()
  expect(await recorded()).toBe('')
  for (const address of ['bob@example.com', 'cyd@example.com']) await run('user', 'invite', address)
  expect(await run('restore', 'status')).toMatchObject({
    ...held,
    restore: { ...held.restore, restored_at: expect.stringMatching(/Z$/) },
  })
  expect((await recorded()).split('\n')).toHaveLength(1)
  expect((await cli(['restore', 'confirm'], { env })).stdout).toMatch(
    /^The hold is lifted\.[\s\S]*\nThe log was rolled back and signs nothing more\. Ask witnesses [\s\S]* --after none /,
  )
  // A second restore holds again what the first one's operator had released.
  const again = await run('restore', 'mark', '--copied-at', copied_at)
  expect(await run('restore', 'status')).toMatchObject({ held: true, restore: { id: again.id } })
  expect(await run('restore', 'confirm')).toMatchObject({ lifted: true })
  expect(await run('restore', 'status')).toEqual({ held: false })
})
