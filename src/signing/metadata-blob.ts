import { X509Certificate } from 'node:crypto'
import { compactVerify, decodeProtectedHeader } from 'jose'
import { z } from 'zod'

/** Real chains are not longer; without a bound a response could make us compute for long. */
const LONGEST_CHAIN = 5

/**
 * Checks whether the chain, leaf first, leads to one of the anchors. Each certificate must be in force and signed by the next,
 * and all but the leaf must be a CA's. An anchor may also be a member of the chain itself (FIDO Metadata Statement §4).
 * Makes no network call, so a certificate revoked since still passes.
 */
export function leadsTo(
  chain: readonly X509Certificate[],
  anchors: readonly X509Certificate[],
  now: Date,
): boolean {
  if (chain.length > LONGEST_CHAIN) return false
  const trusted = anchors.filter((anchor) => isInForce(anchor, now))
  for (const [index, certificate] of chain.entries()) {
    if (!isInForce(certificate, now) || (index > 0 && !certificate.ca)) return false
    if (trusted.some((anchor) => anchor.raw.equals(certificate.raw) || isIssuedBy(certificate, anchor)))
      return true
    const next = chain[index + 1]
    if (next === undefined || !isIssuedBy(certificate, next)) return false
  }
  return false
}

/**
 * Checks whether two roots belong together: one key, or one issued the other. A chain that leads to the one can then lead to the
 * other too.
 */
export function areRelated(one: X509Certificate, other: X509Certificate): boolean {
  return one.publicKey.equals(other.publicKey) || isIssuedBy(one, other) || isIssuedBy(other, one)
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
}

function isInForce({ validFrom, validTo }: X509Certificate, now: Date): boolean {
  return Date.parse(validFrom) <= now.getTime() && now.getTime() <= Date.parse(validTo)
}

/** DER of the identifier 1.3.6.1.4.1.45724.1.1.4 (id-fido-gen-ce-aaguid), and of what precedes the 16 bytes of its value. */
const AAGUID_EXTENSION = '060b2b0601040182e51c01010404120410'

/**
 * Checks whether the certificate names that model by the extension of WebAuthn L3 §8.2.1. Looks for its bytes without reading the
 * rest: call it for a certificate that its maker signed.
 */
export function namesModel({ raw }: X509Certificate, aaguid: string): boolean {
  return raw.includes(Buffer.from(AAGUID_EXTENSION + aaguid.replaceAll('-', ''), 'hex'))
}

/** Reads certificates from their DER. @throws Error when one cannot be read */
export function readChain(certificates: readonly Uint8Array[]): X509Certificate[] {
  return certificates.map((der) => new X509Certificate(der))
}

/** The metadata of one model of authenticator. */
export interface MetadataEntry {
  /** Absent for a model that is none of FIDO2. */
  aaguid?: string
  name: string
  /** Base64 DER of the certificates in which its attestation chains end. */
  roots: string[]
  /** Its status reports, such as `FIDO_CERTIFIED` and `REVOKED`. */
  statuses: string[]
}

/** The payload as the FIDO Metadata Service publishes it; fields not read here are not checked. */
const payloadSchema = z.object({
  nextUpdate: z.string(),
  entries: z.array(
    z.object({
      aaguid: z.string().optional(),
      metadataStatement: z
        .object({ description: z.string(), attestationRootCertificates: z.array(z.string()) })
        .optional(),
      statusReports: z.array(z.object({ status: z.string() })),
    }),
  ),
})

const headerSchema = z.object({ x5c: z.array(z.string()).min(1) })

/**
 * Reads a BLOB of the FIDO Metadata Service (version 3): a JWS whose header carries its signer's certificate chain.
 * @param trust the roots the chain must lead to and, where they are public CAs, the host that the signer must be
 * @throws Error that says what is wrong
 */
export async function readMetadataBlob(
  blob: string,
  trust: { roots: readonly string[]; host?: string },
  now: Date,
): Promise<{ entries: MetadataEntry[]; nextUpdate: Date }> {
  const { x5c } = headerSchema.parse(decodeProtectedHeader(blob))
  const chain = readChain(x5c.map((der) => Buffer.from(der, 'base64')))
  const [signer] = chain
  const roots = trust.roots.map((pem) => new X509Certificate(pem))
  if (signer === undefined || !leadsTo(chain, roots, now))
    throw new Error('its signer leads to none of the roots')
  if (trust.host !== undefined && signer.checkHost(trust.host) === undefined)
    throw new Error(`its signer is not ${trust.host}`)
  const { payload } = await compactVerify(blob, signer.publicKey, { algorithms: ['RS256', 'ES256'] })
  const { entries, nextUpdate } = payloadSchema.parse(JSON.parse(new TextDecoder().decode(payload)))
  return { nextUpdate: new Date(nextUpdate), entries: entries.flatMap(entryOf) }
}

/** Skips models without a statement: nothing is known of them. */
function entryOf({
  aaguid,
  metadataStatement,
  statusReports,
}: z.infer<typeof payloadSchema>['entries'][number]): MetadataEntry[] {
  if (metadataStatement === undefined) return []
  const { description: name, attestationRootCertificates: roots } = metadataStatement
  const statuses = statusReports.map(({ status }) => status)
  return [{ ...(aaguid !== undefined && { aaguid: aaguid.toLowerCase() }), name, roots, statuses }]
}
