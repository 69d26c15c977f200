// How long `countersign verify` takes over many bundles, one on each line of stdin, each of another request with a passkey and a
// checkpoint of its own, in a log of 10^6 leaves with one witness; and how large a bundle is, member by member. Run: npm run build && node bench/verify-bundles.mjs [bundles=10000]
import { spawnSync } from 'node:child_process'
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { newId } from '../dist/src/domain/identifier.js'
import { buildPayload } from '../dist/src/domain/receipt.js'
import { canonicalize } from '../dist/src/signing/canonical.js'
import { actionHash, nonceOf } from '../dist/src/signing/commitment.js'
import { rawSign } from '../dist/src/signing/ed25519-node.js'
import { newSigningKey } from '../dist/src/signing/keys.js'
import {
  checkpointText,
  formatProof,
  parseCheckpointText,
  parseProof,
} from '../dist/src/signing/log/checkpoint.js'
import { decisionSubject } from '../dist/src/signing/log/leaves.js'
import {
  COSIGNATURE,
  cosignatureBytes,
  formatNote,
  LOG_SIGNATURE,
  noteKey,
  parseNote,
  signedBytes,
} from '../dist/src/signing/log/note.js'
import { createReceiptSigner } from '../dist/src/signing/sign.js'
import { assertion, coseKey } from './support/person.mjs'

const { signPayload } = createReceiptSigner()
const count = Number(process.argv[2] ?? 10_000)
const GOAL_S = (60 * count) / 10_000
const root = fileURLToPath(new URL('..', import.meta.url))
const { bases } = JSON.parse(readFileSync(`${root}test/vectors/receipts/bundles.json`, 'utf8'))
const { text, policy, keys } = bases.brief
const MOST_BYTES = 3000
const folder = mkdtempSync(join(tmpdir(), 'cs-bench-'))
writeFileSync(join(folder, 'jwks.json'), JSON.stringify(keys))
writeFileSync(join(folder, 'trust.policy'), policy)

/** Bytes of each member in the file, with its name, quotes, escapes and the comma behind it; of an object those inside. */
function sizesIn(object, path = '') {
  return Object.entries(object).reduce((sizes, [name, value]) => {
    const inside = typeof value === 'object' ? sizesIn(value, `${path}${name}.`) : {}
    const own = Buffer.byteLength(JSON.stringify({ [name]: typeof value === 'object' ? {} : value })) - 1
    return Object.assign(sizes, { [`${path}${name}`]: own }, inside)
  }, {})
}

const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest()

/** The private keys of the vectors (test/support/bundles.ts). */
const keyOf = (fill) => {
  const at = new Date('2026-01-01T00:00:00.000Z')
  return newSigningKey({
    purpose: 'decision',
    seed: new Uint8Array(32).fill(fill),
    createdAt: at,
    notBefore: at,
  })
}

/** A bundle as that of the vectors, of which nothing but the texts of the request is the same. */
async function distinct() {
  const base = JSON.parse(text)
  const asked = JSON.parse(base.intent)
  const rid = newId('req', randomBytes(26))
  const intent = canonicalize({ ...asked, rid, salt: randomBytes(32).toString('base64url') })
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const challenge = sha256(intent).toString('base64url')
  const { response } = assertion(challenge, { id: '', origin: asked.aud, privateKey })
  const signed = {
    key: coseKey(publicKey).toString('base64url'),
    authenticator_data: response.authenticatorData,
    signature: response.signature,
  }
  const payload = buildPayload({
    ...{ rid, did: newId('dec', randomBytes(26)), approver: asked.approver, method: 'passkey' },
    ...{ action: actionHash(asked.action), decision: asked.decision, nonce: nonceOf(intent) },
    ...{ decidedAt: new Date(base.receipt.ts * 1000), expiresAt: new Date(asked.exp * 1000) },
  })
  const { canonical_payload, ...receipt } = signPayload(payload, keyOf(1))
  const client_data = Buffer.from(response.clientDataJSON, 'base64url').toString()
  const vote = { canonical_payload, ...receipt, passkey: { ...signed, client_data } }
  const log = await placeOf(decisionSubject([vote]), parseProof(base.log.proof))
  const its = { did: payload.did, ts: payload.ts, ...receipt }
  return canonicalize({ ...base, intent, receipt: its, passkey: signed, log })
}

/** A place in a tree of which only the path is computed. */
async function placeOf(subject, { index, checkpoint: like }) {
  const record = randomBytes(32)
  const { origin, size } = parseCheckpointText(parseNote(like).text)
  let hash = sha256(Buffer.of(0), record, sha256(subject))
  const path = []
  for (let [node, last] = [index, size - 1]; last > 0; [node, last] = [node >> 1, last >> 1]) {
    if (node % 2 === 0 && node === last) continue
    const sibling = randomBytes(32)
    path.push(sibling)
    hash = node % 2 === 1 ? sha256(Buffer.of(1), sibling, hash) : sha256(Buffer.of(1), hash, sibling)
  }
  const note = checkpointText({ origin, size, root: hash })
  const signatures = []
  for (const [name, type] of [
    [origin, LOG_SIGNATURE],
    ['witness-1.example.org', COSIGNATURE],
  ]) {
    const { seed, publicKey } = keyOf(sha256(name)[0])
    const key = await noteKey(name, type, publicKey)
    const time = type === COSIGNATURE ? Math.floor(Date.now() / 1000) : undefined
    const bytes = rawSign(signedBytes(note, time), seed)
    signatures.push({ ...key, bytes: time === undefined ? bytes : cosignatureBytes(time, bytes) })
  }
  const proof = formatProof({ index, path, checkpoint: formatNote({ text: note, signatures }) })
  return { record: record.toString('base64url'), proof }
}

function seconds(bundles) {
  const began = performance.now()
  const words = ['verify', '-', '--jwks', join(folder, 'jwks.json'), '--policy', join(folder, 'trust.policy')]
  const ran = spawnSync(process.execPath, [`${root}bin/countersign.mjs`, ...words, '--json'], {
    input: all.slice(0, bundles).join('\n'),
    maxBuffer: 1e9,
  })
  if (ran.status !== 0) throw new Error(String(ran.stderr))
  return (performance.now() - began) / 1000
}

const all = []
while (all.length < count) all.push(await distinct())
const few = seconds(2)
const whole = seconds(count)
rmSync(folder, { recursive: true })
const each = ((whole - few) / (count - 2)) * 1000
const bytes = Buffer.byteLength(text)
console.log(`a bundle: ${bytes} bytes (goal ${MOST_BYTES})`)
console.table(sizesIn(JSON.parse(text)))
console.log(
  `${count} bundles: ${whole.toFixed(1)} s (goal ${GOAL_S} s), ${each.toFixed(2)} ms each after the start (goal 5 ms)`,
)
process.exitCode = whole > GOAL_S || each > 5 || bytes > MOST_BYTES ? 1 : 0
