import { createHash, randomBytes } from 'node:crypto'
import type { Bundle, EnrolledPasskey } from '../../src/domain/bundle.ts'
import { BUNDLE_FORMAT } from '../../src/domain/bundle.ts'
import { given } from '../../src/domain/given.ts'
import { buildIntent } from '../../src/domain/intent.ts'
import { buildPayload, type ReceiptPayload } from '../../src/domain/receipt.ts'
import { canonicalize } from '../../src/signing/canonical.ts'
import { actionHash, nonceOf } from '../../src/signing/commitment.ts'
import { rawSign } from '../../src/signing/ed25519-node.ts'
import type { VerificationKey } from '../../src/signing/key-record.ts'
import { checkpointText, formatProof } from '../../src/signing/log/checkpoint.ts'
import { decisionSubject, type ProvableVote } from '../../src/signing/log/leaves.ts'
import {
  COSIGNATURE,
  cosignatureBytes,
  formatNote,
  formatVkey,
  LOG_SIGNATURE,
  noteKey,
  signedBytes,
} from '../../src/signing/log/note.ts'
import { abridged } from '../../src/signing/passkey-assertion.ts'
import { signPayload } from '../../src/signing/sign.ts'
import { DECIDED_AT, testKey } from '../signing/fixtures.ts'
import { createSoftAuthenticator } from './soft-authenticator.ts'

const ORIGIN = 'https://approvals.example.com'
const sha256 = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest()
const id = (prefix: string, digit = '7') => `${prefix}_${digit.repeat(26)}`

/** What a bundle is made of; all of it is usual unless named. */
export interface BundleFacts {
  /** Leaves of the log; 0: the bundle is in none. */
  leaves?: number
  witnesses?: number
  decision?: 'approved' | 'rejected'
  method?: 'passkey' | 'totp'
  action?: string
  /** COSE algorithm of the passkey. */
  algorithm?: -7 | -8 | -257
  /** Whether the browser wrote client data as few do, so that the bundle has them in full. */
  odd?: boolean
  /** Has the registration of the passkey, with these facts. */
  enrolled?: Partial<EnrolledPasskey>
  /** The registration came after the decision. */
  late?: boolean
  /** Who acted for the approver. */
  delegate?: string
}

/** A bundle that nobody asked a service for, with what a verifier trusts. */
export interface MadeBundle {
  bundle: Bundle
  text: string
  keys: VerificationKey[]
  /** C2SP tlog-policy; all witnesses must have cosigned. */
  policy: string
}

/** Makes a bundle as the service would, of a request as requests are. */
export async function makeBundle(facts: BundleFacts = {}): Promise<MadeBundle> {
  const {
    leaves = 1_000_000,
    witnesses = 1,
    decision = 'approved',
    method = 'passkey',
    action = 'Deploy release 4.2.0 to production',
    algorithm = -7,
    odd = false,
    enrolled,
    late = false,
    delegate,
  } = facts
  const key = testKey('decision')
  const context = canonicalize(CONTEXT)
  const intent = canonicalize({ ...intentOf(decision, context, action), ...given({ delegate }) })
  const payload = payloadOf(decision, method, intent)
  const passkey = method === 'totp' ? undefined : passkeyOf(intent, algorithm, odd)
  const challenge = sha256(intent)
  const proof =
    passkey === undefined
      ? { totp: { checked_by: 'service' as const } }
      : { passkey: abridged(passkey, { challenge, origin: ORIGIN }) }
  const signedPayload = signPayload(payload, key)
  const { canonical_payload: _, ...signed } = signedPayload
  const bundle: Bundle = {
    format: BUNDLE_FORMAT,
    receipt: { did: payload.did, ts: payload.ts, ...signed },
    intent,
    context,
    ...proof,
  }
  const subject = enrolled && {
    ...{ aaguid: null, attestation: 'none', approver: payload.approver, credential_id: 'AAAA' },
    ...{ public_key: passkey?.key ?? '', ...enrolled },
  }
  const place = await placeOf({ ...signedPayload, passkey }, { leaves, witnesses, subject, late })
  const whole = leaves === 0 ? bundle : { ...bundle, ...place.members }
  return { bundle: whole, text: canonicalize(whole), keys: [key], policy: place.policy }
}

const CONTEXT = {
  agent_name: 'release-bot',
  reason: 'Ticket OPS-4211: release 4.2 fixes the invoice rounding',
  tool: 'deploy',
  tool_arguments: { environment: 'production', version: '4.2.0', replicas: 6, force: false },
}

function intentOf(decision: 'approved' | 'rejected', context: string, action: string) {
  return buildIntent({
    aud: ORIGIN,
    rid: id('req'),
    decision,
    approver: '9f2c4e6a8b0d1f35',
    action,
    context_sha256: sha256(context).toString('hex'),
    request_created_at: '2026-06-01T11:59:00.000Z',
    exp: DECIDED_AT.getTime() / 1000 + 3600,
    high_impact: false,
    requester: { key: id('key'), name: 'ci-deployer', account: id('acc') },
    policy_sha256: 'c0'.repeat(32),
    quorum: 1,
    salt: randomBytes(32).toString('base64url'),
  })
}

function payloadOf(
  decision: 'approved' | 'rejected',
  method: 'passkey' | 'totp',
  intent: string,
): ReceiptPayload {
  const { action, approver, exp } = JSON.parse(intent)
  return buildPayload({
    rid: id('req'),
    did: id('dec'),
    approver,
    action: actionHash(action),
    decision,
    method,
    decidedAt: DECIDED_AT,
    expiresAt: new Date(exp * 1000),
    nonce: nonceOf(intent),
  })
}

/** A passkey that nobody registered, with its signature over the intent. */
export function passkeyOf(intent: string, algorithm: -7 | -8 | -257, odd = false) {
  const authenticator = createSoftAuthenticator()
  const [rp, user] = [
    { id: new URL(ORIGIN).hostname, name: 'x' },
    { id: 'AAAA', name: 'x', displayName: 'x' },
  ]
  authenticator.register({ rp, user, challenge: 'AAAA', pubKeyCredParams: [] }, { origin: ORIGIN, algorithm })
  const challenge = sha256(intent).toString('base64url')
  const clientData = (json: string) =>
    odd ? json.replace(/\}$/, ',"other_keys_can_be_added_here":1}') : json
  const { response } = authenticator.authenticate({ challenge, rpId: rp.id }, { origin: ORIGIN, clientData })
  return {
    key: Buffer.from(authenticator.credentials[0]?.publicKey ?? []).toString('base64url'),
    client_data: Buffer.from(response.clientDataJSON, 'base64url').toString(),
    authenticator_data: response.authenticatorData,
    signature: response.signature,
  }
}

interface Tree {
  leaves: number
  witnesses: number
  /** What the neighbour of the decision is about. */
  subject: EnrolledPasskey | undefined
  late: boolean
}

const leafOf = (record: Buffer, subject: string) =>
  sha256(Buffer.concat([Buffer.of(0), record, sha256(subject)]))

/** The place of the bundle in a tree of which only the path to it is ever computed. */
async function placeOf(vote: ProvableVote, { leaves, witnesses, subject, late }: Tree) {
  const [record, other] = [randomBytes(32), randomBytes(32)]
  const size = Math.max(leaves, 1)
  const third = Math.floor(size / 3)
  const index = late ? third - (third % 2) : third
  const own = leafOf(record, decisionSubject([vote]))
  const neighbour = subject && leafOf(other, canonicalize(subject))
  const path: Buffer[] = []
  let hash = own
  // RFC 9162 section 2.1.3.2, with random siblings.
  for (let [node, last] = [index, size - 1]; last > 0; [node, last] = [node >> 1, last >> 1]) {
    if (node % 2 === 0 && node === last) continue
    const sibling = (path.length === 0 && neighbour) || randomBytes(32)
    path.push(sibling)
    hash = sha256(Buffer.concat([Buffer.of(1), ...(node % 2 === 1 ? [sibling, hash] : [hash, sibling])]))
  }
  const origin = 'approvals.example.com/countersign/1a2b3c4d'
  const text = checkpointText({ origin, size, root: hash })
  const log = await signerOf(origin, LOG_SIGNATURE)
  const signatures = [{ ...log.key, bytes: log.sign(signedBytes(text)) }]
  const lines = [`log ${formatVkey(log.key)}`]
  for (let number = 1; number <= witnesses; number += 1) {
    const { key, sign } = await signerOf(`witness-${number}.example.org`, COSIGNATURE)
    const time = DECIDED_AT.getTime() / 1000 + 9
    signatures.push({ ...key, bytes: cosignatureBytes(time, sign(signedBytes(text, time))) })
    lines.push(`witness W${number} ${formatVkey(key)}`)
  }
  const names = Array.from({ length: witnesses }, (_, at) => `W${at + 1}`)
  const quorum = witnesses === 0 ? ['quorum none'] : [`group G all ${names.join(' ')}`, 'quorum G']
  const checkpoint = formatNote({ text, signatures })
  const placed = (record: Buffer, index: number, path: Buffer[]) => ({
    record: record.toString('base64url'),
    proof: formatProof({ index, path, checkpoint }),
  })
  const enrolment = subject && { subject, ...placed(other, index ^ 1, [own, ...path.slice(1)]) }
  const members = { log: placed(record, index, path), ...given({ enrolment }) }
  return { members, policy: [...lines, ...quorum, ''].join('\n') }
}

async function signerOf(name: string, type: typeof LOG_SIGNATURE | typeof COSIGNATURE) {
  const { seed, publicKey } = testKey('decision', sha256(name)[0])
  const key = await noteKey(name, type, publicKey)
  return { key, sign: (bytes: Uint8Array) => rawSign(bytes, seed) }
}
