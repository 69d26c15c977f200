import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { SettingsService } from '@simplewebauthn/server'
import { type AuthenticatorFacts, type Authenticators, permits } from '../../domain/authenticator.ts'
import { leadsTo, type MetadataEntry, readChain, readMetadataBlob } from '../../signing/metadata-blob.ts'
import type { Clock, Log } from '../ports.ts'

/** What is known of models of authenticators; without a metadata file of none. */
export interface AuthenticatorModels {
  /** Can any authenticator prove its make here? */
  readonly known: boolean
  /** The model's name; undefined where it is not known. */
  nameOf(aaguid: string | undefined): string | undefined
  /** Do these certificates, DER and the leaf first, lead to a root of that model, and is it one that still counts? */
  vouchFor(aaguid: string, certificates: readonly Uint8Array[]): boolean
  /** Is the model reported as broken by now? */
  isBroken(aaguid: string | undefined): boolean
}

/** Does the policy count this passkey today? A report that came after it was registered takes back what it proved then. */
export function countsToday(
  models: AuthenticatorModels,
  rule: Authenticators | undefined,
  passkey: AuthenticatorFacts,
): boolean {
  return rule === undefined || (permits(rule, passkey) && !models.isBroken(passkey.aaguid))
}

/** The signer of the FIDO Alliance's own file; its roots also sign for any web site. */
const FIDO_SIGNER = 'mds.fidoalliance.org'

/** Such a report takes back what an attestation of the model proves (FIDO Metadata Service §3.1.4). */
const BROKEN: ReadonlySet<string> = new Set([
  'REVOKED',
  'USER_VERIFICATION_BYPASS',
  'ATTESTATION_KEY_COMPROMISE',
  'USER_KEY_REMOTE_COMPROMISE',
  'USER_KEY_PHYSICAL_COMPROMISE',
])

/**
 * The models of a metadata BLOB, read once. An outdated file goes on being used, as what it says of roots rarely changes; the log
 * says so. The library's own service for it would fetch revocation lists from addresses in certificates, and
 * passes over status reports where it is given a file; so only its roots are taken from it.
 * @param file the BLOB
 * @param rootsFile PEM certificates that sign it in place of the FIDO Alliance's
 * @throws Error that says what is wrong with a file
 */
export async function readAuthenticatorModels(
  { file, rootsFile }: { file: string; rootsFile: string | undefined },
  clock: Clock,
  log: Log,
): Promise<AuthenticatorModels> {
  const trust =
    rootsFile === undefined
      ? { roots: SettingsService.getRootCertificates({ identifier: 'mds' }), host: FIDO_SIGNER }
      : { roots: pemsIn(await readFile(rootsFile, 'utf8')) }
  const blob = await readFile(file, 'utf8')
  const { entries, nextUpdate } = await readMetadataBlob(blob.trim(), trust, clock.now())
  if (nextUpdate < clock.now())
    log.warn({ next_update: nextUpdate }, 'the metadata of authenticators is outdated; take a newer file')
  return modelsOf(new Map(entries.map((entry) => [entry.aaguid, entry])), clock)
}

function pemsIn(text: string): string[] {
  return text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
}

/** @param entries by AAGUID */
function modelsOf(entries: ReadonlyMap<string, MetadataEntry>, clock: Clock): AuthenticatorModels {
  const isBroken = (aaguid = ''): boolean =>
    entries.get(aaguid)?.statuses.some((status) => BROKEN.has(status)) === true
  return {
    known: entries.size > 0,
    nameOf: (aaguid) => (aaguid === undefined ? undefined : entries.get(aaguid)?.name),
    isBroken,
    vouchFor(aaguid, certificates) {
      const entry = entries.get(aaguid)
      if (entry === undefined || isBroken(aaguid)) return false
      return leadsTo(readChain(certificates), entry.roots.flatMap(readRoot), clock.now())
    },
  }
}

/** One that cannot be read must not block the others: the file is of many makers. */
function readRoot(der: string): X509Certificate[] {
  try {
    return [new X509Certificate(Buffer.from(der, 'base64'))]
  } catch {
    return []
  }
}

/** Without a metadata file. */
export const NO_MODELS: AuthenticatorModels = modelsOf(new Map(), { now: () => new Date(0) })
