import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A certificate with its key, and what stands in it. */
export interface Certified {
  der: Buffer
  key: KeyObject
  name: Name
}

type Name = readonly (readonly [oid: string, text: string])[]

const DAY_MS = 86_400_000

/** DER: tag, length, content (X.690 §8.1). */
function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const size = content.length
  const length = size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), content])
}

const seq = (...parts: Uint8Array[]) => der(0x30, ...parts)
const int = (value: number) => der(0x02, Buffer.from([value]))

function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number)
  const bytes = rest.flatMap((part) => {
    const digits = [part & 0x7f]
    for (let left = part >> 7; left > 0; left >>= 7) digits.unshift((left & 0x7f) | 0x80)
    return digits
  })
  return der(0x06, Buffer.from([first * 40 + second, ...bytes]))
}

function distinguished(name: Name): Buffer {
  return seq(...name.map(([type, text]) => der(0x31, seq(oid(type), der(0x0c, Buffer.from(text))))))
}

const utc = (time: number) =>
  der(0x17, Buffer.from(`${new Date(time).toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`))

const ECDSA_SHA256 = seq(oid('1.2.840.10045.4.3.2'))
const BASIC_CONSTRAINTS = '2.5.29.19'
/** id-fido-gen-ce-aaguid (WebAuthn L3 §8.2.1). */
const FIDO_AAGUID = '1.3.6.1.4.1.45724.1.1.4'

/** What a certificate is to say. */
export interface CertificateWish {
  name: Name
  /** Itself unless given. */
  by?: Certified
  authority?: boolean
  model?: string
  from?: number
  until?: number
}

let serial = 1

/** Makes an X.509 v3 certificate on P-256. */
export function certify({ name, by, authority = false, model, ...times }: CertificateWish): Certified {
  const { privateKey: key, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const extensions = [
    seq(oid(BASIC_CONSTRAINTS), der(0x04, seq(...(authority ? [der(0x01, Buffer.from([0xff]))] : [])))),
    ...(model === undefined ? [] : [seq(oid(FIDO_AAGUID), der(0x04, der(0x04, bytesOf(model))))]),
  ]
  const now = Date.now()
  serial += 1
  const body = seq(
    der(0xa0, int(2)),
    int(serial % 127),
    ECDSA_SHA256,
    distinguished(by?.name ?? name),
    seq(utc(times.from ?? now - DAY_MS), utc(times.until ?? now + DAY_MS)),
    distinguished(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, seq(...extensions)),
  )
  const signature = sign('sha256', body, by?.key ?? key)
  return { der: seq(body, ECDSA_SHA256, der(0x03, Buffer.from([0]), signature)), key, name }
}

function bytesOf(aaguid: string): Buffer {
  return Buffer.from(aaguid.replaceAll('-', ''), 'hex')
}

const commonName = (text: string): Name => [['2.5.4.3', text]]

/** A certificate of an authority, by itself or by another. */
export function authorityNamed(text: string, by?: Certified): Certified {
  return certify({ name: commonName(text), authority: true, ...(by && { by }) })
}

/** What a batch signs attestations with (WebAuthn L3 §8.2.1); its certificate names the model, if one is given. */
export function batchOf(
  model: string | undefined,
  by: Certified,
  wish: Partial<CertificateWish> = {},
): Certified {
  const name: Name = [
    ['2.5.4.6', 'SE'],
    ['2.5.4.10', 'Maker'],
    ['2.5.4.11', 'Authenticator Attestation'],
    ['2.5.4.3', 'Batch 1'],
  ]
  return certify({ name, by, ...(model !== undefined && { model }), ...wish })
}

/** A model in a metadata file; without an AAGUID, one of before FIDO2. */
export interface ListedModel {
  model?: string
  name: string
  roots: Certified[]
  statuses?: string[]
}

/** A metadata BLOB signed by a signer under a root of its own (FIDO Metadata Service §3.1). */
export function metadataBlob(
  models: readonly ListedModel[],
  { root, signer, nextUpdate = '2099-01-01' }: { root: Certified; signer?: Certified; nextUpdate?: string },
): string {
  const by = signer ?? certify({ name: commonName('metadata'), by: root })
  const entries = models.map(({ model, name, roots, statuses = ['FIDO_CERTIFIED'] }) => ({
    aaguid: model,
    metadataStatement: {
      description: name,
      attestationRootCertificates: roots.map((one) => one.der.toString('base64')),
    },
    statusReports: statuses.map((status) => ({ status })),
    timeOfLastStatusChange: '2026-01-01',
  }))
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = { alg: 'ES256', typ: 'JWT', x5c: [by.der.toString('base64')] }
  const text = `${part(header)}.${part({ no: 1, nextUpdate, legalHeader: '', entries })}`
  const signature = sign('sha256', Buffer.from(text), { key: by.key, dsaEncoding: 'ieee-p1363' })
  return `${text}.${signature.toString('base64url')}`
}

export function pemOf({ der: bytes }: Certified): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

/** Settings that name files with this blob and its root, which are gone once `start` is done. */
export async function withMetadata<Result>(
  blob: string,
  root: Certified,
  start: (env: Record<string, string>) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-metadata-'))
  try {
    const [FIDO_METADATA_FILE, FIDO_METADATA_ROOTS] = [join(folder, 'blob.jwt'), join(folder, 'roots.pem')]
    await writeFile(FIDO_METADATA_FILE, blob)
    await writeFile(FIDO_METADATA_ROOTS, pemOf(root))
    return await start({ FIDO_METADATA_FILE, FIDO_METADATA_ROOTS })
  } finally {
    await rm(folder, { recursive: true })
  }
}
