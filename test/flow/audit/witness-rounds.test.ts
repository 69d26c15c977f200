import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startWitnessRounds } from '../../../src/flow/audit/ask-witnesses.ts'
import { createSequencer } from '../../../src/flow/audit/log.ts'
import { createRelay, NO_LOOPS } from '../../../src/flow/relay/relay.ts'
import { publicKeyOf, rawSign } from '../../../src/signing/ed25519-node.ts'
import { parseJwks } from '../../../src/signing/keys.ts'
import { openCheckpoint } from '../../../src/signing/log/checkpoint.ts'
import {
  COSIGNATURE,
  cosignatureBytes,
  formatVkey,
  noteKey,
  parseNote,
  parseVkey,
  signatureLine,
  signedBytes,
} from '../../../src/signing/log/note.ts'
import { parsePolicy } from '../../../src/signing/log/policy.ts'
import { parseOffer } from '../../../src/signing/log/witnessing.ts'
import { verifyBundle } from '../../../src/signing/verify-bundle.ts'
import { startCli, useDataDir } from '../../support/cli.ts'
import { expectStatus } from '../../support/enrolled.ts'
import { createHttpClient, type HttpClient } from '../../support/http-client.ts'
import { ask, callWithKey, decideByPasskey, setUpOwner } from '../../support/live.ts'
import { bodyOf, closeServer, listenLocally } from '../../support/local-server.ts'
import {
  freePort,
  type ServiceOptions,
  startService,
  type TestService,
  useService,
} from '../../support/service.ts'

/** A service without witnesses, and another one on its store that has them. */
async function useLog(own: ServiceOptions = {}) {
  const database = `witnessed_${randomBytes(6).toString('hex')}`
  const first = await startService({ database, ...own })
  onTestFinished(async () => {
    await first.composition.connection.db?.dropDatabase()
    await first.close()
  })
  const { vkey } = Object(await (await fetch(`${first.url}/.well-known/countersign-log`)).json())
  /** Logs what has happened. */
  const grow = async (): Promise<number> => {
    const { deps } = first.composition
    await createRelay(deps, NO_LOOPS).run()
    await createSequencer(deps).run()
    return (await deps.logs.current())?.size ?? 0
  }
  const withWitnesses = async (
    witnesses: readonly { vkey: string; url: string }[],
    more: ServiceOptions = {},
  ) => {
    const LOG_WITNESSES = witnesses.map(({ vkey, url }) => `${vkey} ${url}/`).join(',')
    const env = { LOG_WITNESSES, CALLBACK_ALLOW_PRIVATE: '1', BASE_URL: first.url }
    return useService({ database, env, ...own, ...more })
  }
  return { first, vkey: String(vkey), grow, withWitnesses }
}

async function startWitness(log: string) {
  const { folder } = await useDataDir()
  const policy = join(folder, 'logs.txt')
  await writeFile(policy, `log ${log}\nquorum none\n`)
  const running = startCli([
    'witness',
    '--policy',
    policy,
    '--data',
    join(folder, 'witness'),
    '--port',
    '0',
    '--json',
  ])
  const said: { vkey: string; url: string } = JSON.parse((await running.line(/^\{.*\}$/m))[0])
  return { ...running, ...said }
}

type Reply = { status: number; type?: string; body?: string } | 'never' | 'by and by' | undefined

/** A witness in name only, which answers as it is told; undefined: it cosigns whatever it is shown. */
async function useFalseWitness(name: string, reply: () => Promise<Reply> | Reply) {
  const seed = randomBytes(32)
  const key = await noteKey(`${name}.example.com`, COSIGNATURE, publicKeyOf(seed))
  const asked = { open: 0, times: 0 }
  const server = createServer(async (request, response) => {
    asked.open += 1
    asked.times += 1
    request.socket.once('close', () => {
      asked.open -= 1
    })
    const { note = '' } = parseOffer(await bodyOf(request)) ?? {}
    const given = await reply()
    if (given === 'never') return
    if (given === 'by and by') {
      response.writeHead(200)
      const drip = setInterval(() => response.write('x'), 200)
      request.socket.once('close', () => clearInterval(drip))
      return
    }
    const time = Math.floor(Date.now() / 1000)
    const bytes = cosignatureBytes(time, rawSign(signedBytes(parseNote(note).text, time), seed))
    const {
      status,
      type = 'text/plain',
      body,
    } = given ?? { status: 200, body: signatureLine({ ...key, bytes }) }
    response.writeHead(status, { 'Content-Type': type, Connection: 'close' }).end(body)
  })
  const url = await listenLocally(server)
  onTestFinished(() => closeServer(server))
  return { vkey: formatVkey(key), url, asked }
}

/** What the service warned of a witness. */
function warnings({ logged }: TestService, url: string): string {
  const about = logged.filter(({ message }) => message.includes(url))
  return about.map(({ fields }) => String(fields.error)).join()
}

const SIZE = 'text/x.tlog.size'

describe('the checkpoints of the log', () => {
  it('are cosigned by a live witness over HTTP while others are away, lie or hang; no decision waits for any of them', async () => {
    const { first, vkey, grow, withWitnesses } = await useLog()
    const setting = await setUpOwner(first)
    const decide = async (at = setting) => {
      const id = await ask(at)
      expectStatus(await decideByPasskey(at, id, 'approved'), 200)
      return id
    }
    const id = await decide()
    await grow()
    const live = await startWitness(vkey)
    const hangs = await useFalseWitness('hangs', () => 'never')
    const bad = [
      [await useFalseWitness('no-words', () => ({ status: 409 })), 'http_409: it has seen another history'],
      [
        await useFalseWitness('no-size', () => ({ status: 409, type: SIZE, body: '-1\n' })),
        'http_409: it has',
      ],
      [await useFalseWitness('forked', () => ({ status: 422 })), 'http_422: it has seen another history'],
      [await useFalseWitness('stranger', () => ({ status: 404 })), 'http_404: it does not know the log'],
      [await useFalseWitness('garbage', () => ({ status: 200, body: '\0{' })), 'Error'],
      [await useFalseWitness('empty', () => ({ status: 200, body: '' })), 'has no cosignature of its key'],
      [await useFalseWitness('endless', () => ({ status: 200, body: 'x'.repeat(20_000) })), 'connect_failed'],
      [{ ...hangs, url: `http://127.0.0.1:${await freePort()}` }, 'connect_failed'],
      [hangs, 'timeout'],
      [await useFalseWitness('slow', () => 'by and by'), 'timeout'],
    ] as const
    const service = await withWitnesses([...bad.map(([witness]) => witness), live], { work: true })
    const browser = createHttpClient(service.url, setting.owner.browser.cookies)
    const post: HttpClient['post'] = (path, body) => browser.post(path, body, { origin: first.url })
    const owner = { ...setting.owner, browser: { ...browser, post } }
    const there = { ...setting, owner, service: { ...service, url: first.url } }
    const receipt = (id: string, query: string) =>
      callWithKey(service, setting.key, `/${id}/receipt?${query}`)
    const trust = {
      keys: parseJwks(await (await fetch(`${service.url}/.well-known/jwks.json`)).json()),
      policy: await parsePolicy(`log ${vkey}\nwitness W ${live.vkey}\nquorum W\n`),
    }
    const witnessed = await receipt(id, 'log=witnessed&timeout=25')
    expect(witnessed.status).toBe(200)
    expect(await verifyBundle(await witnessed.text(), trust)).toMatchObject({ verdict: 'good' })

    // A decision and its place in the log come while the one that hangs is still being asked.
    const during = async (): Promise<boolean> => {
      await expect.poll(() => hangs.asked.open).toBe(1)
      const { times } = hangs.asked
      const id = await decide(there)
      expect((await receipt(id, 'log=logged&timeout=25')).status).toBe(200)
      return hangs.asked.open === 1 && hangs.asked.times === times
    }
    await expect.poll(during).toBe(true)
    for (const [{ url }, reason] of bad) await expect.poll(() => warnings(service, url)).toContain(reason)

    await live.stop('SIGKILL')
    const late = await decide(there)
    expect((await receipt(late, 'log=logged&timeout=25')).status).toBe(200)
    const answer = await receipt(late, 'log=witnessed&timeout=1')
    expect([answer.status, answer.headers.get('retry-after'), await answer.json()]).toEqual([
      503,
      '2',
      expect.objectContaining({ error: 'not_logged', status: 'witnessed', retry_after: 2 }),
    ])
  })

  it('are shown cosigned on a quiet log, and never smaller than before, even if the log grows while a witness is asked', async () => {
    const now = { at: Date.now() }
    const { first, vkey, grow, withWitnesses } = await useLog({ localTime: () => now.at })
    let meanwhile = async (): Promise<Reply> => undefined
    const witness = await useFalseWitness('w', () => meanwhile())
    const service = await withWitnesses([witness])
    const rounds = startWitnessRounds(service.composition.deps)
    rounds.stop()
    let people = 0
    const happens = async () => {
      people += 1
      await setUpOwner(first, `quiet${people}@example.com`)
      return grow()
    }
    const [key, theirs] = [await parseVkey(vkey), await parseVkey(witness.vkey)]
    let before = 0
    const shown = async () => {
      const note = await (await fetch(`${service.url}/log/checkpoint`)).text()
      const { size, cosignatures } = await openCheckpoint(note, key, [theirs])
      expect(size).toBeGreaterThanOrEqual(before)
      before = size
      return [size, cosignatures.length]
    }
    const growing = async (): Promise<undefined> => void (await happens())
    // Not cosigned before: the log was already shown as long as it is.
    const start = await happens()
    expect(await shown()).toEqual([start, 0])
    meanwhile = growing
    await rounds.run()
    const second = (await service.composition.deps.logs.current())?.size
    expect(await shown()).toEqual([second, 0])
    meanwhile = async () => undefined
    await rounds.run()
    expect(await shown()).toEqual([second, 1])

    // Nothing happened for an hour; what happens then is not shown before the witness had its time.
    now.at += 3_600_000
    await happens()
    expect(await shown()).toEqual([second, 1])
    meanwhile = growing
    await rounds.run()
    const [third, by] = await shown()
    expect([by, Number(third) > Number(second)]).toEqual([1, true])

    // The witness is silent for a minute: the log is shown without it, until it has cosigned all of that.
    meanwhile = async () => ({ status: 500 })
    now.at += 61_000
    await rounds.run()
    const [fourth] = await shown()
    expect(Number(fourth)).toBeGreaterThan(Number(third))
    meanwhile = growing
    await rounds.run()
    expect((await shown())[1]).toBe(0)
    meanwhile = async () => undefined
    await rounds.run()
    expect((await shown())[1]).toBe(1)
  })
})
