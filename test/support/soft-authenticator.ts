import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import { type Cbor, encodeCbor } from './cbor.ts'

/** Flags of authenticator data (WebAuthn L3 §6.1). */
export const FLAGS = { up: 0x01, uv: 0x04, be: 0x08, bs: 0x10, at: 0x40 } as const

/** A passkey inside the authenticator. `counter` is the last one shown; 0 stays 0, as synced passkeys do. */
interface SoftCredential {
  id: string
  rpId: string
  userHandle: string
  algorithm: -7 | -8 | -257
  privateKey: KeyObject
  /** COSE key. */
  publicKey: Uint8Array
  counter: number
}

/** Everything a client or authenticator could say wrongly. What is left out is said rightly. */
interface Ceremony {
  /** What the browser puts into the client data: the origin of the page. */
  origin: string
  flags?: number
  counter?: number
  type?: string
  /** Base64url. */
  challenge?: string
  crossOrigin?: boolean
  topOrigin?: string
  /** The id whose hash goes into the authenticator data. */
  rpId?: string
  /** Credential id in the response. */
  id?: string
  rawId?: string
  /** Rewrites the client data before it is signed. */
  clientData?: (json: string) => string
  /** Changes the signature after it was made. */
  tamper?: (signature: Uint8Array) => Uint8Array
}

export interface RegistrationCeremony extends Ceremony {
  algorithm?: -7 | -8 | -257
  /** The key put into the authenticator data instead of the real one. */
  publicKey?: Uint8Array
  /** `packed`: signed by the credential itself, or by the maker. */
  format?: 'none' | 'packed'
  /** The model it says it is, an AAGUID; zeros unless given. */
  model?: string
  /** With `packed`: the maker's key for the model and its chain, DER and the leaf first. */
  maker?: { key: KeyObject; chain: Uint8Array[] }
  transports?: string[]
  /** The counter every later assertion starts from; 0 = none is kept. */
  startCounter?: number
}

export interface AssertionCeremony extends Ceremony {
  /** null leaves it out. */
  userHandle?: string | null
  /** Signs with this passkey even if the options do not allow it. */
  credential?: SoftCredential
}

/** An authenticator in software. It checks nothing: what it is told to say, it says. */
export interface SoftAuthenticator {
  readonly credentials: SoftCredential[]
  register(
    options: PublicKeyCredentialCreationOptionsJSON,
    ceremony: RegistrationCeremony,
  ): RegistrationResponseJSON
  authenticate(
    options: PublicKeyCredentialRequestOptionsJSON,
    ceremony: AssertionCeremony,
  ): AuthenticationResponseJSON
}

/** Makes an empty authenticator. */
export function createSoftAuthenticator(): SoftAuthenticator {
  const credentials: SoftCredential[] = []
  return {
    credentials,
    register(options, ceremony) {
      const credential = makeCredential(options, ceremony)
      credentials.push(credential)
      return registration(credential, options, ceremony)
    },
    authenticate(options, ceremony) {
      const allowed = options.allowCredentials ?? []
      const fits = (candidate: SoftCredential) =>
        candidate.rpId === options.rpId &&
        (allowed.length === 0 || allowed.some(({ id }) => id === candidate.id))
      const credential = ceremony.credential ?? credentials.find(fits)
      if (credential === undefined) throw new Error('the authenticator has no passkey for these options')
      return assertion(credential, options, ceremony)
    },
  }
}

function makeCredential(
  options: PublicKeyCredentialCreationOptionsJSON,
  ceremony: RegistrationCeremony,
): SoftCredential {
  const algorithm = ceremony.algorithm ?? -7
  const { privateKey, publicKey } = makeKeys(algorithm)
  return {
    id: randomBytes(32).toString('base64url'),
    rpId: options.rp.id ?? '',
    userHandle: options.user.id,
    algorithm,
    privateKey,
    publicKey: ceremony.publicKey ?? coseKey(algorithm, publicKey),
    counter: ceremony.startCounter ?? 0,
  }
}

function makeKeys(algorithm: -7 | -8 | -257) {
  if (algorithm === -7) return generateKeyPairSync('ec', { namedCurve: 'P-256' })
  if (algorithm === -8) return generateKeyPairSync('ed25519')
  return generateKeyPairSync('rsa', { modulusLength: 2048 })
}

/** COSE form of a public key (RFC 9053 §7, RFC 8230 §4). */
export function coseKey(algorithm: number, publicKey: KeyObject): Buffer {
  const jwk = publicKey.export({ format: 'jwk' })
  const bytes = (value: string | undefined) => Buffer.from(value ?? '', 'base64url')
  const key = new Map<number, Cbor>()
  if (jwk.kty === 'EC') key.set(1, 2).set(3, algorithm).set(-1, 1).set(-2, bytes(jwk.x)).set(-3, bytes(jwk.y))
  else if (jwk.kty === 'OKP') key.set(1, 1).set(3, algorithm).set(-1, 6).set(-2, bytes(jwk.x))
  else key.set(1, 3).set(3, algorithm).set(-1, bytes(jwk.n)).set(-2, bytes(jwk.e))
  return encodeCbor(key)
}

function registration(
  credential: SoftCredential,
  options: PublicKeyCredentialCreationOptionsJSON,
  ceremony: RegistrationCeremony,
): RegistrationResponseJSON {
  const clientData = clientDataOf('webauthn.create', options.challenge, ceremony)
  const id = Buffer.from(credential.id, 'base64url')
  const length = Buffer.from([id.length >> 8, id.length & 0xff])
  const aaguid = Buffer.from((ceremony.model ?? '').replaceAll('-', '').padEnd(32, '0'), 'hex')
  const attested = Buffer.concat([aaguid, length, id, credential.publicKey])
  const flags = ceremony.flags ?? FLAGS.up | FLAGS.uv | FLAGS.at
  const authData = Buffer.concat([
    head(ceremony.rpId ?? credential.rpId, flags, ceremony.counter ?? credential.counter),
    attested,
  ])
  const statement = new Map<string, Cbor>()
  if (ceremony.format === 'packed') {
    const { maker } = ceremony
    const signer = maker === undefined ? credential : { algorithm: -7 as const, privateKey: maker.key }
    statement.set('alg', signer.algorithm)
    statement.set('sig', signature(signer, authData, clientData, ceremony))
    if (maker !== undefined) statement.set('x5c', maker.chain)
  }
  const attestation = new Map<string, Cbor>([
    ['fmt', ceremony.format ?? 'none'],
    ['attStmt', statement],
    ['authData', authData],
  ])
  return {
    id: ceremony.id ?? credential.id,
    rawId: ceremony.rawId ?? ceremony.id ?? credential.id,
    type: 'public-key',
    response: {
      clientDataJSON: clientData.toString('base64url'),
      attestationObject: encodeCbor(attestation).toString('base64url'),
      transports: ['internal', 'hybrid'],
    },
    clientExtensionResults: {},
  }
}

function assertion(
  credential: SoftCredential,
  options: PublicKeyCredentialRequestOptionsJSON,
  ceremony: AssertionCeremony,
): AuthenticationResponseJSON {
  const clientData = clientDataOf('webauthn.get', options.challenge, ceremony)
  if (ceremony.counter === undefined && credential.counter > 0) credential.counter += 1
  const flags = ceremony.flags ?? FLAGS.up | FLAGS.uv
  const authData = head(ceremony.rpId ?? credential.rpId, flags, ceremony.counter ?? credential.counter)
  const userHandle = ceremony.userHandle === undefined ? credential.userHandle : ceremony.userHandle
  return {
    id: ceremony.id ?? credential.id,
    rawId: ceremony.rawId ?? ceremony.id ?? credential.id,
    type: 'public-key',
    response: {
      clientDataJSON: clientData.toString('base64url'),
      authenticatorData: authData.toString('base64url'),
      signature: signature(credential, authData, clientData, ceremony).toString('base64url'),
      ...(userHandle === null ? {} : { userHandle }),
    },
    clientExtensionResults: {},
  }
}

function clientDataOf(type: string, challenge: string, ceremony: Ceremony): Buffer {
  const json = JSON.stringify({
    type: ceremony.type ?? type,
    challenge: ceremony.challenge ?? challenge,
    origin: ceremony.origin,
    crossOrigin: ceremony.crossOrigin ?? false,
    ...(ceremony.topOrigin === undefined ? {} : { topOrigin: ceremony.topOrigin }),
  })
  return Buffer.from(ceremony.clientData?.(json) ?? json)
}

/** rpIdHash, flags and counter: 37 bytes. */
function head(rpId: string, flags: number, counter: number): Buffer {
  const count = Buffer.alloc(4)
  count.writeUInt32BE(counter)
  return Buffer.concat([createHash('sha256').update(rpId).digest(), Buffer.from([flags]), count])
}

function signature(
  credential: Pick<SoftCredential, 'algorithm' | 'privateKey'>,
  authData: Uint8Array,
  clientData: Uint8Array,
  ceremony: Ceremony,
): Buffer {
  const message = Buffer.concat([authData, createHash('sha256').update(clientData).digest()])
  const digest = credential.algorithm === -8 ? null : 'sha256'
  const made = sign(digest, message, credential.privateKey)
  return Buffer.from(ceremony.tamper?.(made) ?? made)
}
