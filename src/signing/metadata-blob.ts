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

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
}

function isInForce({ validFrom, validTo }: X509Certificate, now: Date): boolean {
  return Date.parse(validFrom) <= now.getTime() && now.getTime() <= Date.parse(validTo)
}

/** Reads certificates from their DER. @throws Error when one cannot be read */
export function readChain(certificates: readonly Uint8Array[]): X509Certificate[] {
  return certificates.map((der) => new X509Certificate(der))
}

/** The metadata of one model of authenticator. */
export interface MetadataEntry {
  aaguid: string
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

/** Skips models without an AAGUID, which only FIDO2 models have, and models without a statement: nothing is known of them. */
function entryOf({
  aaguid,
  metadataStatement,
  statusReports,
}: z.infer<typeof payloadSchema>['entries'][number]): MetadataEntry[] {
  if (aaguid === undefined || metadataStatement === undefined) return []
  const { description: name, attestationRootCertificates: roots } = metadataStatement
  const statuses = statusReports.map(({ status }) => status)
  return [{ aaguid: aaguid.toLowerCase(), name, roots, statuses }]
}
