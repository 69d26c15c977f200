import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { SettingsService } from '@simplewebauthn/server'
import { type AuthenticatorFacts, type Authenticators, permits } from '../../domain/authenticator.ts'
import type { Clock, Log } from '../../ports/ports.ts'
import {
  areRelated,
  leadsTo,
  type MetadataEntry,
  namesModel,
  readChain,
  readMetadataBlob,
} from '../../signing/metadata-blob.ts'
import type { AuthenticatorModels } from '../deps.ts'

/** Checks whether the policy counts this passkey today: a later report about its model takes back what it proved. */
export function countsToday(
  models: AuthenticatorModels,
  rule: Authenticators | undefined,
  passkey: AuthenticatorFacts,
): boolean {
  return rule === undefined || (permits(rule, passkey) && !models.isBroken(passkey.aaguid))
}

/** The signer of the FIDO Alliance's own file; its roots also sign for any web site. */
const FIDO_SIGNER = 'mds.fidoalliance.org'

/** Reports that take back what an attestation of the model proves (FIDO Metadata Service §3.1.4). */
const BROKEN: ReadonlySet<string> = new Set([
  'REVOKED',
  'USER_VERIFICATION_BYPASS',
  'ATTESTATION_KEY_COMPROMISE',
  'USER_KEY_REMOTE_COMPROMISE',
  'USER_KEY_PHYSICAL_COMPROMISE',
])

/**
 * Reads the models of a metadata BLOB, once. An outdated file is still used, because what it says about roots rarely changes;
 * the log warns. The library's own metadata service would fetch revocation lists from addresses in certificates, and
 * ignores status reports when it is given a file; so only its roots are used.
 * @param file the BLOB
 * @param rootsFile PEM root certificates for its signature, in place of the FIDO Alliance's
 * @throws Error that says what is wrong with a file
 */
export async function readAuthenticatorModels(
  { file, rootsFile }: { file: string; rootsFile: string | undefined },
  clock: Pick<Clock, 'now'>,
  log: Pick<Log, 'warn'>,
): Promise<AuthenticatorModels> {
  const trust =
    rootsFile === undefined
      ? { roots: SettingsService.getRootCertificates({ identifier: 'mds' }), host: FIDO_SIGNER }
      : { roots: pemsIn(await readFile(rootsFile, 'utf8')) }
  const blob = await readFile(file, 'utf8')
  const { entries, nextUpdate } = await readMetadataBlob(blob.trim(), trust, clock.now())
  if (nextUpdate < clock.now())
    log.warn({ next_update: nextUpdate }, 'the metadata of authenticators is outdated; download a newer file')
  return modelsOf(entries, clock)
}

function pemsIn(text: string): string[] {
  return text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
}

function modelsOf(all: readonly MetadataEntry[], clock: Pick<Clock, 'now'>): AuthenticatorModels {
  const entries = new Map(all.map((entry) => [entry.aaguid, entry]))
  const isBroken = (aaguid = ''): boolean =>
    entries.get(aaguid)?.statuses.some((status) => BROKEN.has(status)) === true
  return {
    known: all.some(({ aaguid }) => aaguid !== undefined),
    nameOf: (aaguid) => (aaguid === undefined ? undefined : entries.get(aaguid)?.name),
    isBroken,
    vouchFor(aaguid, certificates) {
      const entry = entries.get(aaguid)
      if (entry === undefined || isBroken(aaguid)) return false
      const chain = readChain(certificates)
      const reached = entry.roots.flatMap(readRoot).filter((root) => leadsTo(chain, [root], clock.now()))
      if (reached.length === 0 || chain.slice(0, 1).some((leaf) => namesModel(leaf, aaguid)))
        return reached.length > 0
      const others = all
        .filter((other) => other.aaguid !== aaguid)
        .flatMap(({ roots }) => roots.flatMap(readRoot))
      return !reached.some((root) => others.some((other) => areRelated(root, other)))
    },
  }
}

/** Reads a root, if it can be read: a bad one must not block the others, as the file comes from many makers. */
function readRoot(der: string): X509Certificate[] {
  try {
    return [new X509Certificate(Buffer.from(der, 'base64'))]
  } catch {
    return []
  }
}

/** The models known without a metadata file: none. */
export const NO_MODELS: AuthenticatorModels = modelsOf([], { now: () => new Date(0) })
