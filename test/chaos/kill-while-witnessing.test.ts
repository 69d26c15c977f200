import { createHash } from 'node:crypto'
import { cp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { sha256Hex } from '../../src/signing/digest.ts'
import { openCheckpoint, parseCheckpointText } from '../../src/signing/log/checkpoint.ts'
import { parseNote, parseVkey } from '../../src/signing/log/note.ts'
import { tilePath } from '../../src/signing/log/tiles.ts'
import { parseOffer } from '../../src/signing/log/witnessing.ts'
import { startCli, useDataDir } from '../support/cli.ts'
import { type DeathPoint, dyingAt } from '../support/die-at.ts'
import { expectStatus } from '../support/enrolled.ts'
import { createHttpClient } from '../support/http-client.ts'
import { bodyOf, closeServer, listenLocally } from '../support/local-server.ts'
import { freePort } from '../support/service.ts'
import { type ServiceProcess, spawnService } from '../support/service-process.ts'
import { size } from '../support/size.ts'
import { createSoftAuthenticator } from '../support/soft-authenticator.ts'

/** By then a process has come to a point, also on a busy machine. */
const WAIT_MS = 60_000

/** What becomes of the next question to a witness; the service dies before the witness has it, or before its answer is back. */
type Passage = 'passes' | 'away' | 'asker dies before' | 'asker dies after'

/** Passes on what services ask the witnesses, and knows every cosignature that a witness ever gave. */
async function useGoBetween() {
  const cosigned: { witness: string; note: string }[] = []
  const ways = new Map<string, { witness: string; passage: Passage; kill: () => void }>()
  const pass = async (request: IncomingMessage) => {
    const name = (request.url ?? '').split('/')[1] ?? ''
    const way = ways.get(name)
    const body = await bodyOf(request)
    if (way === undefined || way.passage === 'away') return undefined
    if (way.passage === 'asker dies before') return way.kill()
    // A witness that dies over it takes the asker with it: both begin anew, and neither knows what the other knows.
    const answer = await fetch(`${way.witness}/add-checkpoint`, { method: 'POST', body }).catch(way.kill)
    const text = await answer?.text()
    if (answer?.status === 200) cosigned.push({ witness: name, note: `${parseOffer(body)?.note}${text}` })
    if (way.passage === 'asker dies after') return way.kill()
    return answer && { status: answer.status, type: answer.headers.get('content-type') ?? '', text }
  }
  const server = createServer(async (request, response) => {
    const answer = await pass(request)
    if (answer === undefined) response.destroy()
    else response.writeHead(answer.status, { 'Content-Type': answer.type }).end(answer.text)
  })
  const url = await listenLocally(server)
  onTestFinished(() => closeServer(server))
  return { url, ways, cosigned }
}

/** An installation: a service and a witness, each with an embedded store in a folder of its own. */
async function useInstallation(name: string) {
  const { folder } = await useDataDir()
  const [data, copy, policy] = ['service', 'copy', 'logs.txt'].map((file) => join(folder, file))
  const [port, witnessPort] = [await freePort(), await freePort()]
  const url = `http://localhost:${port}`
  const env = { DATA_DIR: data ?? '', PORT: String(port), CALLBACK_ALLOW_PRIVATE: '1', LOG_WITNESSES: '' }
  let service: ServiceProcess | undefined
  onTestFinished(() => service?.end('SIGKILL'))
  const start = (point?: DeathPoint) => {
    service = spawnService({ ...env, ...dyingAt(point) })
    return service
  }
  const kill = (): void => void service?.end('SIGKILL')
  const startWitness = async (point?: DeathPoint) => {
    const command = ['witness', '--policy', policy ?? '', '--data', join(folder, 'witness')]
    const running = startCli([...command, '--port', String(witnessPort), '--name', `${name}.example.com/w`], {
      env: dyingAt(point),
    })
    const [, vkey = ''] = await running.line(/^Witness (\S+)$/m)
    return { ...running, vkey, url: `http://127.0.0.1:${witnessPort}` }
  }
  const shown = async () => {
    const answer = await fetch(`${url}/log/checkpoint`)
    return answer.status === 200 ? parseCheckpointText(parseNote(await answer.text()).text).size : undefined
  }
  /** The first owner sets the service up, which the trail has. */
  const grow = async (email: string) => {
    await service?.line(/Countersign is running/)
    const before = (await shown()) ?? 0
    const [, token] = (await service?.line(/\/setup#([\w-]+)/)) ?? []
    const browser = createHttpClient(url)
    const asked = await browser.post('/api/v1/enrollment/passkey/options', { token, email, name: 'Owner' })
    const credential = createSoftAuthenticator().register(expectStatus(asked, 200).options, { origin: url })
    const enrolled = { token, passkey_name: 'laptop', credential }
    expectStatus(await browser.post('/api/v1/enrollment/passkey', enrolled), 201)
    await expect.poll(shown).toBeGreaterThan(before)
    return browser
  }
  return {
    name,
    url,
    policy: policy ?? '',
    env,
    start,
    kill,
    startWitness,
    shown,
    grow,
    keep: () => cp(data ?? '', copy ?? '', { recursive: true }),
    async putBack() {
      await rm(data ?? '', { recursive: true })
      await cp(copy ?? '', data ?? '', { recursive: true })
    },
    vkey: async () => Object(await (await fetch(`${url}/.well-known/countersign-log`)).json()).vkey as string,
  }
}

type Installation = Awaited<ReturnType<typeof useInstallation>>
type GoBetween = Awaited<ReturnType<typeof useGoBetween>>

const STATE = { collection: 'witnessed', field: 'note' } as const
const HEARD = { collection: 'log_witnesses', field: 'line' } as const
const SHOWN = { collection: 'log_head', field: 'cosigned_note' } as const

/** Who dies when, from the first question to the cosigned checkpoint, in this order; each time somebody begins anew. */
const DEATHS: { witness?: DeathPoint; passage?: Passage; service?: DeathPoint }[] = [
  { witness: { ...STATE, side: 'before' } },
  { passage: 'asker dies before' },
  { passage: 'asker dies after' },
  { witness: { ...STATE, side: 'before' } },
  { service: { ...HEARD, side: 'before' } },
  { witness: { ...STATE, side: 'after' } },
  { service: { ...HEARD, side: 'after' } },
  { service: { ...SHOWN, side: 'before' } },
  { service: { ...SHOWN, side: 'after' } },
]

/** The log of `one` is cosigned by the witness of `other` over every death on the way. @returns the witness, and what it cosigned */
async function witnessThroughDeaths(one: Installation, other: Installation, between: GoBetween) {
  const way = between.ways.get(other.name) ?? expect.unreachable()
  for (const { witness: point, passage = 'passes', service: own } of DEATHS.filter(
    (_, index) => index % size(5, 1) === 0,
  )) {
    const witness = await other.startWitness(point)
    Object.assign(way, { passage, witness: witness.url })
    const service = one.start(own)
    await expect(service.line(/^never said$/, WAIT_MS)).rejects.toThrow('the service ended')
    expect([service.child.signalCode, point, passage, own]).toEqual(['SIGKILL', point, passage, own])
    await witness.stop('SIGKILL')
  }
  const witness = await other.startWitness()
  Object.assign(way, { passage: 'passes', witness: witness.url })
  const service = one.start()
  await service.line(/Countersign is running/)
  const [key, theirs] = [await parseVkey(await one.vkey()), await parseVkey(witness.vkey)]
  const opened = async () =>
    openCheckpoint(await (await fetch(`${one.url}/log/checkpoint`)).text(), key, [theirs])
  await expect.poll(async () => (await opened()).cosignatures.length).toBe(1)
  await expectOneHistory(one, other, between)
  return { witness, service, ...(await opened()) }
}

/** Every tree that the witness ever cosigned is the beginning of the one that the service shows. */
async function expectOneHistory(one: Installation, { name }: Installation, { cosigned }: GoBetween) {
  const length = (await one.shown()) ?? expect.unreachable()
  const tile = await fetch(`${one.url}/log/tile/${tilePath({ level: 0, index: 0, width: length })}`)
  const bytes = Buffer.from(await tile.arrayBuffer())
  const leaves = Array.from({ length }, (_, at) => bytes.subarray(at * 32, at * 32 + 32))
  const given = cosigned.filter(({ witness }) => witness === name)
  expect(given.length).toBeGreaterThan(0)
  for (const { note } of given) {
    const tree = parseCheckpointText(parseNote(note).text)
    expect(rootOf(leaves.slice(0, tree.size))).toEqual(Buffer.from(tree.root))
  }
}

/** RFC 6962 over hashed leaves. */
function rootOf(leaves: readonly Buffer[]): Buffer {
  const [only] = leaves
  if (only === undefined || leaves.length === 1) return only ?? createHash('sha256').digest()
  let k = 1
  while (k * 2 < leaves.length) k *= 2
  const halves = [rootOf(leaves.slice(0, k)), rootOf(leaves.slice(k))]
  return createHash('sha256')
    .update(Buffer.concat([Buffer.of(1), ...halves]))
    .digest()
}

/** Put back, and grown in another way: the witness has seen another history, and refuses it. */
async function growOtherwise(one: Installation, other: Installation, { ways }: GoBetween, reached: number) {
  const way = ways.get(other.name) ?? expect.unreachable()
  await one.putBack()
  Object.assign(way, { passage: 'away' })
  const forked = one.start()
  const browser = await one.grow('other@example.com')
  while (((await one.shown()) ?? 0) <= reached)
    expectStatus(await browser.post('/api/v1/account/api-keys', { name: 'another' }), 201)
  Object.assign(way, { passage: 'passes' })
  await forked.line(/it has seen another history of this log/)
  await forked.end('SIGKILL')
}

it('two installations that witness each other: each is killed at each step, then one is put back, and its log stops', async () => {
  const between = await useGoBetween()
  const [a, b] = [await useInstallation('a'), await useInstallation('b')]
  const pairs = [
    [a, b],
    [b, a],
  ] as const
  const both = pairs.slice(0, size(1, 2))
  for (const [one, other] of both) {
    const first = one.start()
    await first.line(/Countersign is running/)
    await expect.poll(one.shown).toBeGreaterThan(0)
    await writeFile(other.policy, `log ${await one.vkey()}\nquorum none\n`)
    await first.end('SIGTERM')
    await one.keep()
    const witness = await other.startWitness()
    one.env.LOG_WITNESSES = `${witness.vkey} ${between.url}/${other.name}`
    await witness.stop('SIGKILL')
    between.ways.set(other.name, { witness: witness.url, passage: 'away', kill: one.kill })
    const service = one.start()
    await one.grow('owner@example.com')
    await service.end('SIGKILL')
  }
  for (const [one, other] of both) {
    const { witness, service, origin, size: reached } = await witnessThroughDeaths(one, other, between)
    await service.end('SIGKILL')
    const path = `${witness.url}/${sha256Hex(origin)}/checkpoint`
    const last = await (await fetch(path)).text()
    const given = between.cosigned.length
    if (size(0, 1) === 1) await growOtherwise(one, other, between, reached)
    await one.putBack()
    const back = one.start()
    await back.line(/log_rolled_back/)
    await expect.poll(async () => (await fetch(`${one.url}/log/checkpoint`)).status).toBe(503)
    await back.end('SIGKILL')
    expect(between.cosigned).toHaveLength(given)
    expect(await (await fetch(path)).text()).toBe(last)
    await witness.stop('SIGKILL')
  }
})
