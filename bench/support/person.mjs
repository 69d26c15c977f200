// A person who decides without a browser: a passkey in software, codes, a session.
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { generateSync, ScureBase32Plugin } from 'otplib'
import { inviteUser } from '../../dist/src/flow/joining/invite-user.js'
import { createApiKey } from '../../dist/src/flow/keys/manage-api-keys.js'
import { startSession } from '../../dist/src/flow/people/sessions.js'

/** A person with both factors, signed in at that origin, with keys of both kinds and no quota. */
export async function newPerson({ deps, connection }, n, origin) {
  const { user } = await inviteUser(deps, { email: `bench${n}@example.com` }, { kind: 'cli' })
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const credential = randomBytes(16).toString('base64url')
  const seed = randomBytes(20)
  const at = new Date(Date.now() - 3_600_000)
  const passkey = {
    id: `pky_${n}`,
    credential_id: credential,
    public_key: coseKey(publicKey).toString('base64url'),
    algorithm: -7,
    name: 'Bench',
    counter: 0,
    transports: [],
    backup_eligible: false,
    synced: false,
    created_at: at,
    last_used_at: null,
    suspended_at: null,
  }
  const totp = {
    sealed_seed: deps.vault.seal(seed, `totp:${user.id}`),
    confirmed_at: at,
    last_step: 0,
    failures: 0,
    locked_until: null,
    locks: 0,
    disabled_at: null,
  }
  const factors = { passkeys: [passkey], totp, enrolled_at: at }
  await connection.collection('users').updateOne({ _id: user.id }, { $set: factors })
  await connection.collection('accounts').updateOne({ _id: user.account_id }, { $set: { monthly_quota: 0 } })
  const key = (sandbox) =>
    createApiKey(deps, { accountId: user.account_id, name: 'Bench', sandbox }, { kind: 'cli' })
  const found = await deps.users.find(user.id)
  const { token, cookie } = await startSession(
    deps,
    found,
    { address: '127.0.0.1', user_agent: 'bench' },
    'bench',
  )
  return {
    session: token,
    cookie,
    live: (await key(false)).raw_key,
    sandbox: (await key(true)).raw_key,
    assert: ({ challenge }) => assertion(challenge, { id: credential, origin, privateKey }),
    code: () => generateSync({ secret: new ScureBase32Plugin().encode(seed, { padding: false }) }),
  }
}

/** CBOR of an ES256 key (RFC 9053 §7.1). */
export function coseKey(publicKey) {
  const { x, y } = publicKey.export({ format: 'jwk' })
  const bytes = (text) => Buffer.concat([Buffer.from([0x58, 0x20]), Buffer.from(text, 'base64url')])
  return Buffer.concat([
    Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21]),
    bytes(x),
    Buffer.from([0x22]),
    bytes(y),
  ])
}

/** What a browser sends once a passkey has signed the challenge (base64url). */
export function assertion(challenge, { id, origin, privateKey }) {
  const client = JSON.stringify({ type: 'webauthn.get', challenge, origin, crossOrigin: false })
  const hash = (bytes) => createHash('sha256').update(bytes).digest()
  // User present and verified; no counter.
  const data = Buffer.concat([hash(new URL(origin).hostname), Buffer.from([0x05, 0, 0, 0, 0])])
  const signature = sign('sha256', Buffer.concat([data, hash(client)]), privateKey)
  return {
    id,
    rawId: id,
    type: 'public-key',
    clientExtensionResults: {},
    response: {
      clientDataJSON: Buffer.from(client).toString('base64url'),
      authenticatorData: data.toString('base64url'),
      signature: signature.toString('base64url'),
    },
  }
}
