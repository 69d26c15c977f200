import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { open, readFile, rename } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { join } from 'node:path'
import { type EmbeddedStore, startEmbeddedStore } from 'embedded-mongo'
import { z } from 'zod'
import { listen } from '../compose/listen.ts'
import { operatorWords } from '../compose/operator-words.ts'
import { parseJson } from '../domain/parse-json.ts'
import { fromBase64, toBase64 } from '../signing/base64.ts'
import { hashOnNode, sha256Hex } from '../signing/digest.ts'
import { publicKeyOf } from '../signing/ed25519-node.ts'
import {
  COSIGNATURE,
  cosignatureBytes,
  formatNote,
  formatVkey,
  NoteError,
  type NoteKey,
  type NoteSignature,
  noteKey,
  signatureLine,
  signedBytes,
} from '../signing/log/note.ts'
import {
  type CheckpointOffer,
  offerProblem,
  openOffer,
  parseOffer,
  readHead,
  SIZE_TYPE,
  type SignedHead,
  type WitnessRefusal,
} from '../signing/log/witnessing.ts'
import { signBytes } from '../signing/sign.ts'
import { createWitnessedStore, type WitnessedStore } from '../store/audit/witnessed.ts'
import { connectStore, type StoreConnection } from '../store/mongo/connect.ts'
import { readPolicy } from './policy-file.ts'
import { syncFolder } from './sync-folder.ts'
import { CliError, oneLine, terminal, usageError } from './terminal.ts'

export interface WitnessOptions {
  policy: string
  data: string
  name?: string
  listen: string
  port: string
  json?: boolean
}

/** The key of a witness, which signs nothing else. */
interface WitnessKey {
  key: NoteKey
  seed: Uint8Array
}

interface Witness {
  logs: readonly NoteKey[]
  signer: WitnessKey
  store: WitnessedStore
}

/**
 * `countersign witness`: cosigns the checkpoints of the logs in a policy file (C2SP tlog-witness v1.0.0), until SIGINT or SIGTERM.
 * @throws CliError, ListenError, StoreLockedError, StoreFileError
 */
export async function runWitness(options: WitnessOptions): Promise<void> {
  const logs = (await readPolicy(options.policy)).logs.map(({ key }) => key)
  if (logs.length === 0)
    throw usageError(`${options.policy} names no log; add a line "log <vkey>" for each log to witness.`)
  const port = readPort(options.port)
  refuseHalf(options.data)
  const store = await startEmbeddedStore({ dataDir: options.data })
  let connection: StoreConnection | undefined
  let server: Server | undefined
  try {
    connection = await connectStore(store.uri)
    const witnessed = createWitnessedStore(connection)
    const witness = { logs, store: witnessed, signer: await takeKey(options, witnessed) }
    server = createWitnessServer(witness)
    const place = { setting: '--port', host: options.listen, port } as const
    announce(witness, urlOf(options.listen, await listen(server, place)), options)
    await untilStopped(store)
  } finally {
    server?.close()
    server?.closeAllConnections()
    await connection?.close()
    await store.close()
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 65_536
  if (port > 65_535) throw usageError('--port must be a number from 0 to 65535; 0 lets the system choose.')
  return port
}

async function untilStopped({ failed }: EmbeddedStore): Promise<void> {
  let end = (): void => undefined
  const stopped = new Promise<undefined>((done) => {
    end = () => done(undefined)
  })
  for (const signal of SIGNALS) process.once(signal, end)
  const failure = await Promise.race([stopped, failed])
  for (const signal of SIGNALS) process.off(signal, end)
  if (failure !== undefined) throw failure
}

function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function announce({ signer, logs }: Witness, url: string, { json }: WitnessOptions): void {
  const vkey = formatVkey(signer.key)
  const origins = [...new Set(logs.map(({ name }) => name))]
  const text = [`Witness ${vkey}`, ...origins.map((origin) => `for the log ${origin}`), `at ${url}`].join(
    '\n',
  )
  terminal().stdout.write(`${json ? JSON.stringify({ vkey, url, logs: origins }) : text}\n`)
}

const KEY_FILE = 'witness.key'

/** Refuses a folder in which the key or the state is missing: a state that begins again would vouch for a second history. */
function refuseHalf(dataDir: string): void {
  const [key, store] = [KEY_FILE, 'store.db'].map((name) => existsSync(join(dataDir, name)))
  if (existsSync(join(dataDir, 'secrets.json')))
    throw new CliError('not_permitted', `${dataDir} belongs to a service; name another folder with --data.`)
  if (key && !store)
    throw new CliError(
      'store_unusable',
      `${dataDir} has the key of a witness, but its state is gone: without it the key could vouch for a second history. Put store.db back if nothing was cosigned since; otherwise name a new folder with --data, and give its new key to those who trust this witness.`,
    )
}

const keySchema = z.strictObject({ name: z.string(), seed: z.base64() })

/** Reads the key, or makes it at the first start. The caller holds the folder. @throws CliError unless it is the key of this state */
async function takeKey({ data, name }: WitnessOptions, store: WitnessedStore): Promise<WitnessKey> {
  const path = join(data, KEY_FILE)
  if (!existsSync(path)) {
    if (!(await store.isNew()))
      throw unusable(`${path} is missing, and the state in ${data} belongs to it; put that file back`)
    await makeKey(data, name ?? `countersign-witness/${randomBytes(4).toString('hex')}`)
  }
  const known = keySchema.safeParse(parseJson(await readFile(path, 'utf8')))
  if (!known.success) throw unusable(`${path} is damaged; put it back from a copy`)
  if (name !== undefined && known.data.name !== name)
    throw usageError(
      `The witness in ${data} is named ${oneLine(known.data.name)}; leave --name out, or name a new folder with --data.`,
    )
  const signer = await keyOf(known.data.name, fromBase64(known.data.seed))
  const vkey = formatVkey(signer.key)
  if ((await store.claim(vkey)) !== vkey)
    throw unusable(`${path} is not the key of the state in ${data}; put back the file that belongs to it`)
  return signer
}

function unusable(sentence: string): CliError {
  return new CliError('store_unusable', `${sentence}, or name a new folder with --data.`)
}

/** Writes a new key beside its place, then renames it: no crash leaves half a key. */
async function makeKey(data: string, name: string): Promise<void> {
  const seed = randomBytes(32)
  await keyOf(name, seed)
  const path = join(data, KEY_FILE)
  const file = await open(`${path}.new`, 'w', 0o600)
  try {
    await file.writeFile(`${JSON.stringify({ name, seed: toBase64(seed) })}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
  await syncFolder(data)
}

async function keyOf(name: string, seed: Uint8Array): Promise<WitnessKey> {
  try {
    return { key: await noteKey(name, COSIGNATURE, publicKeyOf(seed)), seed }
  } catch (error) {
    if (error instanceof NoteError) throw usageError(`--name: ${error.message}.`)
    throw error
  }
}

/** The most bytes of a request: a checkpoint with many signatures, and the longest proof. A note may be longer, so ours is, too. */
const MAX_BODY = 131_072

/** Slow clients must not hold connections, nor all of them. */
const LIMITS = { headersTimeout: 10_000, requestTimeout: 10_000, connectionsCheckingInterval: 1_000 }
const MAX_CONNECTIONS = 256

function createWitnessServer(witness: Witness): Server {
  const server = createServer(LIMITS, (request, response) => {
    answer(witness, request).then(
      ({ status, type = 'text/plain; charset=utf-8', body }) => {
        response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store' }).end(body)
      },
      (error: unknown) => {
        terminal().stderr.write(`error: a request failed: ${operatorWords(error).message}\n`)
        response.writeHead(500).end()
      },
    )
  })
  server.maxConnections = MAX_CONNECTIONS
  return server
}

interface Answer {
  status: number
  type?: string
  body: string
}

const NOT_FOUND: Answer = { status: 404, body: 'not found\n' }

async function answer(witness: Witness, request: IncomingMessage): Promise<Answer> {
  const path = (request.url ?? '').split('?')[0] ?? ''
  if (request.method === 'POST' && path === '/add-checkpoint') {
    const body = await readBody(request)
    if (body === undefined) return { status: 413, body: `a request has at most ${MAX_BODY} bytes\n` }
    const offer = parseOffer(body)
    if (offer === undefined)
      return { status: 400, body: 'the body must be an old size, a proof, an empty line and a checkpoint\n' }
    return addCheckpoint(witness, offer)
  }
  const [, hash] = /^\/([0-9a-f]{64})\/checkpoint$/.exec(path) ?? []
  if (hash === undefined || !['GET', 'HEAD'].includes(request.method ?? '')) return NOT_FOUND
  const log = witness.logs.find(({ name }) => sha256Hex(name) === hash)
  const known = log && (await witness.store.find(log.name))
  return known === undefined ? NOT_FOUND : { status: 200, body: known.note }
}

/** @returns undefined for a body that is too long */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    const bytes = Buffer.from(chunk)
    size += bytes.length
    if (size > MAX_BODY) return undefined
    chunks.push(bytes)
  }
  return Buffer.concat(chunks).toString()
}

/** Cosigns a checkpoint, after storing that. If another request moved the state meanwhile, it is judged again by the new one. */
async function addCheckpoint(witness: Witness, offer: CheckpointOffer): Promise<Answer> {
  const offered = await openOffer(offer, witness.logs)
  if ('status' in offered) return refusal(offered)
  for (;;) {
    const known = await witness.store.find(offered.origin)
    const problem = hashOnNode(offerProblem(offer, offered, known && headOf(known.note)))
    if (problem?.forked) await keepFork(witness, offered)
    if (problem !== undefined) return refusal(problem)
    const line = cosign(witness.signer, offered.signed.text)
    const { origin, size, signed } = offered
    const note = formatNote({ text: signed.text, signatures: logSignatures(witness, offered) }) + line
    if (await witness.store.move(known, { origin, size, note })) return { status: 200, body: line }
  }
}

/** Reads what this witness stored. */
function headOf(note: string): SignedHead {
  const head = readHead(note)
  if (head === undefined)
    throw new Error('the state of the witness is damaged; put the folder away, and start in a new one')
  return head
}

/** One signature of each key that was checked: others would let anyone put anything beside the cosignature. */
function logSignatures({ logs }: Witness, { signed, origin }: SignedHead): NoteSignature[] {
  const keys = logs.filter(({ name }) => name === origin)
  const of = (key: NoteKey) => signed.signatures.find(({ name, id }) => name === key.name && id === key.id)
  return keys.map(of).filter((signature) => signature !== undefined)
}

function cosign({ key, seed }: WitnessKey, text: string): string {
  const time = Math.floor(Date.now() / 1000)
  const { name, id, publicKey } = key
  const signature = signBytes(signedBytes(text, time), { kid: id, seed, publicKey })
  return signatureLine({ name, id, bytes: cosignatureBytes(time, signature) })
}

async function keepFork({ store }: Witness, { origin, signed }: SignedHead): Promise<void> {
  const isNew = await store.keepFork(origin, formatNote(signed))
  if (isNew)
    terminal().stderr.write(
      `warning: the log ${oneLine(origin)} has forked: it signed two roots for one size. The proof is kept in the store; ask its operator, and trust no proof of that log until that is explained. It signed:\n${formatNote(signed)}`,
    )
}

function refusal({ status, message, known }: WitnessRefusal): Answer {
  return known === undefined
    ? { status, body: `${message}\n` }
    : { status, type: SIZE_TYPE, body: `${known}\n` }
}
