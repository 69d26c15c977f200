// Decided requests with true receipts and a true trail, written past the service: what it would take minutes to decide is there in
// seconds. All are of one account and one API key.
import { createHash, createPrivateKey, randomBytes, sign } from 'node:crypto'
import { newId } from '../../dist/src/domain/identifier.js'
import { buildIntent } from '../../dist/src/domain/intent.js'
import { buildPayload } from '../../dist/src/domain/receipt.js'
import { requestSha256 } from '../../dist/src/flow/requests/request-digest.js'
import { GENESIS, linkEntry } from '../../dist/src/signing/audit-chain.js'
import { canonicalize } from '../../dist/src/signing/canonical.js'
import { actionHash, nonceOf } from '../../dist/src/signing/commitment.js'
import { newSigningKey } from '../../dist/src/signing/keys.js'
import { createAuditTrail } from '../../dist/src/store/audit/audit-trail.js'

const BATCH = 500
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')
const sha256 = (text) => createHash('sha256').update(text).digest('hex')
const id = (prefix) => newId(prefix, randomBytes(26))

/**
 * Fills an empty store with `count` requests, one a second up to `last`. Whoever runs a service on it sees foreign data.
 * @param account an account that there is: then no trail and no key is written, and the store need not be empty
 */
export async function fillDecided(connection, count, last = new Date(), account = undefined) {
  const first = last.getTime() - count * 1000
  const who = {
    account: id('acc'),
    key: id('key'),
    user: id('usr'),
    approver: randomBytes(8).toString('hex'),
  }
  const seed = randomBytes(32)
  const at = new Date(first - 1000)
  const key = newSigningKey({ purpose: 'decision', seed, createdAt: at, notBefore: at })
  const secret = createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, seed]),
    format: 'der',
    type: 'pkcs8',
  })
  const trail = chain()
  const isAlone = account === undefined
  if (isAlone) {
    await connection.collection('signing_keys').insertOne(signingKeyDocument(key))
    await trail.write(connection, [entry('signing_key.created', at, key.kid)])
  }
  for (let done = 0; done < count; done += BATCH) {
    const numbers = Array.from({ length: Math.min(BATCH, count - done) }, (_, index) => done + index)
    const made = numbers.map((n) => decidedRequest(n, new Date(first + n * 1000), { who, key, secret }))
    await connection.collection('requests').insertMany(made.map(({ document }) => document))
    const entries = made.flatMap((one) => one.entries)
    if (isAlone) await trail.write(connection, entries)
  }
  return who
}

function chain() {
  let head = GENESIS
  return {
    async write(connection, entries) {
      const records = entries.map((told) => {
        const record = linkEntry(head, told, randomBytes(32).toString('hex'))
        head = record
        return record
      })
      await createAuditTrail(connection).insert(records)
    },
  }
}

function entry(type, at, subject, more = {}) {
  return { eid: id('evt'), type, at, actor: { kind: 'service' }, subject, ...more }
}

function signingKeyDocument({ kid, purpose, publicKey, notBefore, createdAt }) {
  const public_key = Buffer.from(publicKey).toString('base64url')
  const more = { generation: 1, sealed_seed: '', made_with: {}, revoked_at: null, audit: [] }
  return { _id: kid, purpose, public_key, not_before: notBefore, created_at: createdAt, ...more }
}

/** About as large as a usual one: 300 characters of context. */
function decidedRequest(n, created_at, { who, key, secret }) {
  const request = id('req')
  const context_json = canonicalize({ invoice: n, reason: 'x'.repeat(250), tool: 'pay' })
  const requirement = {
    approvers: [{ user_id: who.user, approver: who.approver, passkey: true, totp: true }],
    quorum: 1,
    passkey_only: false,
  }
  const asked = {
    account_id: who.account,
    api_key_id: who.key,
    requested_by: { key_name: 'deploy bot', account_name: 'Example' },
    sandbox: false,
    action: `Pay invoice ${n} of Example Corp`,
    context_json,
    context_sha256: sha256(context_json),
    high_impact: false,
    requirement,
    created_at,
    expires_at: new Date(created_at.getTime() + 3_600_000),
  }
  const { vote, decision } = decide(request, asked, { who, key, secret })
  const about = { account_id: who.account }
  const detail = { asked_sha256: requestSha256(asked) }
  const { decision_id, method, at } = vote
  return {
    document: {
      _id: request,
      version: 2,
      status: 'approved',
      ...asked,
      votes: [vote],
      decision,
      moved_at: at,
      outbox: [],
      audit: [],
    },
    entries: [
      entry('approval.created', created_at, request, { ...about, detail }),
      entry('approval.voted', at, request, {
        ...about,
        detail: { decision: 'approved', decision_id, method },
      }),
      entry('approval.approved', at, request, about),
    ],
  }
}

function decide(rid, asked, { who, key, secret }) {
  const at = new Date(asked.created_at.getTime() + 500)
  const intent_json = canonicalize(
    buildIntent({
      aud: 'http://localhost:3000',
      rid,
      decision: 'approved',
      approver: who.approver,
      action: asked.action,
      context_sha256: asked.context_sha256,
      request_created_at: asked.created_at.toISOString(),
      exp: Math.floor(asked.expires_at.getTime() / 1000),
      high_impact: false,
      requester: { key: who.key, name: 'deploy bot', account: who.account },
      policy_sha256: '0'.repeat(64),
      quorum: 1,
      salt: randomBytes(32).toString('base64url'),
    }),
  )
  const decision_id = id('dec')
  const said = { decision: 'approved', method: 'passkey', approver: who.approver }
  const payload = buildPayload({
    ...{ rid, did: decision_id, ...said },
    action: actionHash(asked.action),
    decidedAt: at,
    expiresAt: asked.expires_at,
    nonce: nonceOf(intent_json),
  })
  const canonical_payload = canonicalize(payload)
  const signature = sign(null, Buffer.from(canonical_payload), secret).toString('base64')
  const receipt = { canonical_payload, signature, public_key_id: key.kid }
  const evidence = {
    type: 'passkey',
    credential_id: randomBytes(16).toString('base64url'),
    public_key: randomBytes(77).toString('base64url'),
    client_data_json: randomBytes(150).toString('base64url'),
    authenticator_data: randomBytes(37).toString('base64url'),
    signature: randomBytes(70).toString('base64url'),
  }
  const voter = { user_id: who.user, on_behalf_of: who.user }
  const vote = { decision_id, ...voter, ...said, at, comment: null, intent_json, evidence, receipt }
  return { vote, decision: { id: decision_id, ...said, decided_at: at, comment: null } }
}
