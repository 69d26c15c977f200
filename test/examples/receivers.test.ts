import { spawnSync } from 'node:child_process'
import { createHmac, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { packagePath } from '../../src/config/package-path.ts'
import { signatureHeaders } from '../../src/outbound/guarded-post.ts'
import { newCaller, stored, type TestCaller } from '../support/caller.ts'
import { ask, decideByPasskey, type LiveSetting, setUpOwner } from '../support/live.ts'
import { rawRequest } from '../support/raw-http.ts'
import { type Received, type Receiver, startReceiver } from '../support/receiver.ts'
import { freePort, startService, type TestService } from '../support/service.ts'
import {
  docsBlock,
  docsCommand,
  type ExampleReceiver,
  exampleFolder,
  hangUpInTheMiddle,
  runShell,
  startExample,
} from './example-receiver.ts'

let service: TestService
let setting: LiveSetting
let sandbox: TestCaller
let recorder: Receiver
/** A callback of the service as it went over the wire, and since when there is one. */
let genuine: { headers: Record<string, string>; body: string; id: string; rid: string }
let recordedAt = Number.NEGATIVE_INFINITY
let secrets: { live: string; sandbox: string }

beforeAll(async () => {
  service = await startService({ work: true, env: { CALLBACK_ALLOW_PRIVATE: '1' } })
  recorder = await startReceiver()
  setting = await setUpOwner(service)
  sandbox = await newCaller(service, { sandbox: true })
  secrets = { live: await fetchSecret(setting.key), sandbox: await fetchSecret(sandbox.token) }
})
beforeEach(async () => {
  // Of this minute, if the test takes less than four: the receivers refuse what is older than five.
  if (performance.now() - recordedAt < 60_000) return
  recordedAt = performance.now()
  genuine = await recordCallback()
})
afterAll(async () => {
  await service.close()
  await recorder.close()
})

/** By the documents' command. */
async function fetchSecret(COUNTERSIGN_KEY: string): Promise<string> {
  const here = { 'http://localhost:3000': service.url }
  const answer = JSON.parse(await runShell(docsBlock('sh', 'webhook-secret'), here, { COUNTERSIGN_KEY }))
  return String(answer.webhook_signing_secret)
}

async function recordCallback(): Promise<typeof genuine> {
  const before = recorder.received.length
  const rid = await ask(setting, { callback_url: recorder.url('/record') })
  await decideByPasskey(setting, rid, 'approved')
  await recorder.until('the callback', () => recorder.received.length > before)
  const { headers, body, eventId: id }: Received = recorder.received[before] ?? expect.unreachable()
  const kept = Object.entries(headers).filter(([name]) => /^(webhook-|x-service-|content-type$)/.test(name))
  return { headers: Object.fromEntries(kept.map(([k, v]) => [k, String(v)])), body: String(body), id, rid }
}

/** Headers as the service would send them, of that age. */
function signed(body: string, options: { id?: string; age?: number; by?: [string, ...string[]] } = {}) {
  const at = new Date(Date.now() - (options.age ?? 0) * 1000)
  return signatureHeaders({
    eventId: options.id ?? genuine.id,
    body,
    at,
    secrets: options.by ?? [secrets.live],
  })
}

const hasPython = spawnSync('python3', ['--version']).status === 0
const RECEIVERS = [
  { name: 'TypeScript', command: docsBlock('sh', 'receiver.ts'), runs: true },
  { name: 'Python', command: docsBlock('sh', 'receiver.py'), runs: hasPython },
]

describe.each(RECEIVERS)("the documents' receiver in $name", ({ name, command, runs }) => {
  describe.skipIf(!runs)(runs ? 'as a process' : `is not tested: ${name} is not installed`, () => {
    let folder: Awaited<ReturnType<typeof exampleFolder>>
    let receiver: ExampleReceiver

    beforeEach(async () => {
      folder = await exampleFolder()
      receiver = await start()
    })
    afterEach(async () => {
      await receiver.end()
      await folder.remove()
    })

    const start = (url = `${service.url}/`, WEBHOOK_SECRETS = `${secrets.sandbox} ${secrets.live}`) =>
      startExample(folder, from(url.replace(/\/$/, ''), command), { WEBHOOK_SECRETS, COUNTERSIGN_URL: url })
    const eventually = <T>(read: () => T) => expect.poll(read)
    const deliveryOf = (id: string) => stored(service, 'deliveries').findOne({ request_id: id })
    async function everythingActedOn(): Promise<string[]> {
      await receiver.end()
      for (const secret of Object.values(secrets)) expect(receiver.said()).not.toContain(secret)
      return receiver.acted()
    }
    /** Of a receiver that has ended: a line for each refusal, without what both begin with. */
    const refusals = () => [...receiver.said().matchAll(/^refused \((.*)$/gm)].map(([, line = '']) => line)

    it('acts once on an approval of the service, also when its owner has it sent again', async () => {
      const here = { 'http://localhost:3000': service.url, ':4000': `:${folder.port}` }
      const asking = docsBlock('sh', '"callback_url"')
      const { id } = JSON.parse(await runShell(asking, here, { COUNTERSIGN_KEY: setting.key }))
      await decideByPasskey(setting, id, 'approved')
      await eventually(() => deliveryOf(id)).toMatchObject({
        state: 'delivered',
        attempts: [{ outcome: 'http_200' }],
      })

      const delivery = String((await deliveryOf(id))?._id)
      expect((await setting.owner.browser.post(`/api/v1/deliveries/${delivery}/replay`, {})).status).toBe(200)
      await eventually(() => deliveryOf(id)).toMatchObject({
        state: 'delivered',
        attempts: [{ outcome: 'http_200' }, { outcome: 'http_200' }],
      })
      expect(await everythingActedOn()).toEqual([`${id} approved`])
    })

    it('takes no callback for an approval that its key alone made', async () => {
      const [pending, rejected] = [await ask(setting), await ask(setting)]
      await decideByPasskey(setting, rejected, 'rejected')
      const { signed_receipt } = JSON.parse(genuine.body)
      const { privateKey, publicKey } = generateKeyPairSync('ed25519')
      const own = publicKey.export({ format: 'jwk' })
      const bodyOf = (request_id: string, said: object = {}) => {
        const claim = { ...JSON.parse(signed_receipt.canonical_payload), rid: request_id }
        const canonical_payload = JSON.stringify(claim)
        const signature = sign(null, Buffer.from(canonical_payload), privateKey).toString('base64')
        const receipt = { ...signed_receipt, canonical_payload, signature, ...said }
        return JSON.stringify({ request_id, decision: 'approved', signed_receipt: receipt })
      }
      const forged: [number[], string][] = [
        [[403], bodyOf(pending)],
        [[403], bodyOf(pending, { signature: 'AAAA' })],
        [[403], bodyOf(pending, { public_key_id: 'own', public_key: own.x, jwk: own })],
        [[403], bodyOf(pending, signed_receipt)],
        [[403], bodyOf(`req_${'0'.repeat(26)}`)],
        [[403], bodyOf(`../../../docs?${pending}`)],
        [[200, 403], bodyOf(rejected)],
      ]
      for (const [number, [statuses, body]] of forged.entries())
        expect(statuses, body).toContain(await receiver.post(signed(body, { id: `evt_${number}` }), body))
      expect((await everythingActedOn()).filter((line) => line !== `${rejected} rejected`)).toEqual([])
      expect(refusals().length).toBeGreaterThanOrEqual(6)
    })

    it.each([{}, { WEBHOOK_SECRETS: ' ' }])(
      'says what is missing, and does not start, with %o',
      async (set) => {
        const other = await exampleFolder()
        const started = startExample(other, from(service.url, command), {
          COUNTERSIGN_URL: service.url,
          ...set,
        })
        await expect(started).rejects.toThrow(
          /^the receiver ended: WEBHOOK_SECRETS is not set: it takes the webhook_signing_secret of the key that asks\.\n$/,
        )
        await other.remove()
      },
    )

    it('acts once on one approval, whatever id its key sends it again under, and on none of long ago', async () => {
      const { body, rid } = genuine
      expect(await receiver.post(signed(body), body)).toBe(200)
      expect(await receiver.post(signed(body, { id: 'evt_other' }), body)).toBe(200)
      expect(await everythingActedOn()).toEqual([`${rid} approved`])
      const old = await serveReceipt(rid, { ts: Math.floor(Date.now() / 1000) - 905 })
      receiver = await start(old.url)
      expect(await receiver.post(signed(old.body), old.body)).toBe(403)
      expect(await everythingActedOn()).toEqual([])
      expect(refusals()).toEqual(['403): decided more than 15 minutes ago'])
      await old.close()
    })

    it('acts on a rejection as such', async () => {
      const id = await ask(setting, { callback_url: `http://127.0.0.1:${folder.port}/` })
      await decideByPasskey(setting, id, 'rejected')
      await eventually(() => deliveryOf(id)).toMatchObject({ state: 'delivered' })
      expect(await everythingActedOn()).toEqual([`${id} rejected`])
    })

    it('answers a replay of the very bytes 200 without acting, under a fresh signature as well', async () => {
      const { headers, body } = genuine
      expect(await receiver.post(headers, body)).toBe(200)
      expect(await receiver.post(headers, body)).toBe(200)
      expect(await receiver.post(signed(body), body)).toBe(200)
      expect(await everythingActedOn()).toEqual([`${genuine.rid} approved`])
    })

    it('refuses whatever was altered on the way, and acts on nothing', async () => {
      const { headers, body } = genuine
      const [signature = ''] = headers['webhook-signature']?.match(/(?<=^v1,).*/) ?? []
      const flipped = `v1,${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`
      const altered: [headers: Record<string, string>, body: string][] = [
        [headers, body.replace('"approved"', '"rejected"')],
        [headers, `${body} `],
        [{ ...headers, 'webhook-id': `evt_${'0'.repeat(26)}` }, body],
        [{ ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) }, body],
        [{ ...headers, 'webhook-signature': flipped }, body],
        [{ ...headers, 'webhook-signature': `v1,${signature.slice(0, 40)}` }, body],
        [{ ...headers, 'webhook-signature': 'v1,' }, body],
        [{ ...headers, 'webhook-signature': '\u00e9\u00fc' }, body],
        [signed(body, { by: [randomBytes(32).toString('hex')] }), body],
        [without(headers, 'webhook-signature'), body],
        [without(headers, 'webhook-id'), body],
        [without(headers, 'webhook-timestamp'), body],
      ]
      const statuses: number[] = []
      for (const [sent, text] of altered) statuses.push(await receiver.post(sent, text))
      expect(statuses).toEqual(altered.map(() => 401))
      expect(await everythingActedOn()).toEqual([])
      const why = '401): signed with none of WEBHOOK_SECRETS: each key has its own, a sandbox key too'
      expect(refusals()).toEqual(altered.map(() => why))
    })

    it('refuses what was sent more than 300 s ago, or will be, however well it is signed', async () => {
      const { body } = genuine
      // It grows older on its way, on a busy machine by seconds.
      expect(await receiver.post(signed(body, { age: 301 }), body)).toBe(400)
      expect(await receiver.post(signed(body, { age: -330 }), body)).toBe(400)
      expect(receiver.acted()).toEqual([])
      expect(await receiver.post(signed(body, { age: 270 }), body)).toBe(200)
      expect(await receiver.post(signed(body, { age: -298, id: `evt_${'1'.repeat(26)}` }), body)).toBe(200)
      expect(await everythingActedOn()).toEqual([`${genuine.rid} approved`])
      expect(refusals()).toEqual(Array(2).fill('400): sent more than 300 s away from this clock'))
    })

    it('refuses a sandbox receipt of the service, although it knows the secret', async () => {
      const callback_url = `http://127.0.0.1:${folder.port}/`
      const id = await sandbox.createdId({ callback_url, sandbox_auto_decide_seconds: 0 })
      await sandbox.read(id)
      await eventually(() => deliveryOf(id)).toHaveProperty('attempts.0.outcome', 'http_403')
      const decision = Object((await sandbox.read(id)).body.decision)
      const payload = Buffer.from(String(decision.signed_payload), 'base64url').toString()
      const marked = JSON.stringify({
        request_id: id,
        signed_receipt: { ...decision, canonical_payload: payload },
      })
      expect(await receiver.post(signed(marked), marked)).toBe(403)
      expect(await everythingActedOn()).toEqual([])
      expect(refusals()).toEqual(Array(2).fill(expect.stringMatching(/^403\): .*sandbox/)))
    })

    it('takes the old signature or the new one while a secret is rotated', async () => {
      const fresh = randomBytes(32).toString('hex')
      expect(await receiver.post(signed(genuine.body, { by: [fresh, secrets.live] }), genuine.body)).toBe(200)
      expect(await everythingActedOn()).toEqual([`${genuine.rid} approved`])
    })

    it('goes on after a rotation of the signing key, once the key set is saved again', async () => {
      const { keys, clock } = service.composition.deps
      const { kid } = await keys.rotate('decision', clock.now(), { kind: 'service' })
      genuine = await recordCallback()
      expect(genuine.body).toContain(kid)
      const saved = await fetch(`${service.url}/.well-known/jwks.json`)
      await writeFile(join(folder.path, 'jwks.json'), await saved.text())
      expect(await receiver.post(genuine.headers, genuine.body)).toBe(200)
      expect(await everythingActedOn()).toEqual([`${genuine.rid} approved`])
    })

    it('takes a callback while another comes byte by byte, and a time that no number holds for an old one', async () => {
      const slow = connect(folder.port, '127.0.0.1')
      slow.on('error', () => undefined)
      slow.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nh')
      const { body, headers } = genuine
      const late = { ...headers, 'webhook-timestamp': '9'.repeat(400) }
      const key = secrets.live
      expect(await receiver.post({ ...late, 'webhook-signature': keyed(late, body, key) }, body)).toBe(400)
      expect(await receiver.post(headers, body)).toBe(200)
      expect(slow.destroyed).toBe(false)
      slow.destroy()
      expect(await everythingActedOn()).toEqual([`${genuine.rid} approved`])
    })

    it('goes on after bodies that are too long, cut off or of another kind', async () => {
      const long = 'x'.repeat(65_537)
      expect([413, 0]).toContain(await receiver.post(signed(long), long))
      for (const other of ['{"id":"evt_1","type":"approval.created"}', '{"request_id":5}', '[]', 'x'])
        expect([other, await receiver.post(signed(other, { id: 'evt_1' }), other)]).toEqual([other, 400])
      for (const length of ['abc', '-1', '1_0']) {
        const head = { method: 'POST', headers: { 'Content-Length': length } }
        const { status } = await rawRequest(`http://127.0.0.1:${folder.port}`, '/', head)
        expect([length, status]).toEqual([length, 400])
      }
      await hangUpInTheMiddle(folder.port)
      expect(await receiver.post(genuine.headers, genuine.body)).toBe(200)
      expect(await everythingActedOn()).toEqual([`${genuine.rid} approved`])
      expect(refusals().slice(0, 8)).toEqual([
        '413): longer than 65,536 bytes, or of no stated length',
        ...Array(4).fill('400): not the body of a callback'),
        ...Array(3).fill('400): not a POST, or its head cannot be read'),
      ])
    })
  })
})

describe('the receivers of the documents', () => {
  it.skipIf(!hasPython)('remember in Python what they did before a restart', async () => {
    const folder = await exampleFolder()
    const command = docsBlock('sh', 'receiver.py')
    const environment = { WEBHOOK_SECRETS: secrets.live, COUNTERSIGN_URL: service.url }
    const run = () => startExample(folder, command, environment)
    const first = await run()
    expect(await first.post(genuine.headers, genuine.body)).toBe(200)
    await first.end()
    const second = await run()
    expect(await second.post(genuine.headers, genuine.body)).toBe(200)
    await second.end()
    await folder.remove()
    expect(first.acted()).toEqual([`${genuine.rid} approved`])
    expect(second.acted()).toEqual([])
  })

  it('says in TypeScript that its key set is missing, and does not start', async () => {
    const folder = await exampleFolder()
    const input = readFileSync(packagePath('examples/receiver.ts'))
    const env = { WEBHOOK_SECRETS: secrets.live }
    const run = spawnSync(process.execPath, ['--input-type=module'], { cwd: folder.path, env, input })
    await folder.remove()
    const why = 'jwks.json is not in this folder: it takes what the service has at /.well-known/jwks.json.\n'
    expect([run.status, String(run.stderr)]).toEqual([1, why])
  })

  it('are the files in examples/', () => {
    const file = (name: string) => readFileSync(packagePath(`examples/${name}`), 'utf8')
    expect(docsBlock('ts')).toBe(file('receiver.ts'))
    expect(docsBlock('python')).toBe(file('receiver.py'))
  })

  it('can prove the decision with what they received', async () => {
    const folder = await exampleFolder()
    const files = {
      'callback.json': join(folder.path, 'callback.json'),
      'jwks.json': join(folder.path, 'jwks.json'),
    }
    await writeFile(files['callback.json'], genuine.body)
    const keys = await fetch(`${service.url}/.well-known/jwks.json`)
    await writeFile(files['jwks.json'], await keys.text())
    const said = await runShell(docsCommand('npx countersign verify'), files)
    await folder.remove()
    expect(said).toMatch(/approved/)
    expect(said).toContain(genuine.rid)
  })
})

/** A command of the documents, for the service at that address. */
function from(url: string, command: string): string {
  return command.replaceAll('http://localhost:3000', url)
}

/** A service of its own key that knows one receipt: that of the last callback, changed. */
async function serveReceipt(rid: string, changed: object) {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const kid = 'of-the-stub'
  const payload = { ...JSON.parse(JSON.parse(genuine.body).signed_receipt.canonical_payload), ...changed }
  const canonical_payload = JSON.stringify(payload)
  const signature = sign(null, Buffer.from(canonical_payload), privateKey).toString('base64')
  const keys = [{ ...publicKey.export({ format: 'jwk' }), kid, purpose: 'decision' }]
  const server = createServer((request, response) => {
    const verdict = { valid: true, decision: payload.decision, payload }
    response.end(JSON.stringify(request.url?.endsWith('jwks.json') ? { keys } : verdict))
  })
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const receipt = { canonical_payload, signature, public_key_id: kid }
  return {
    url: `http://127.0.0.1:${port}`,
    body: JSON.stringify({ request_id: rid, signed_receipt: receipt }),
    close: () => new Promise((resolve) => server.close(resolve)),
  }
}

function without(headers: Record<string, string>, name: string): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([key]) => key !== name))
}

/** What anybody can compute. */
function keyed(headers: Record<string, string>, body: string, key: string): string {
  const text = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  return `v1,${createHmac('sha256', key).update(text).digest('base64')}`
}
