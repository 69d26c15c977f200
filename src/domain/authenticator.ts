/**
 * The passkeys that a policy counts: all whose authenticator proved its model at registration, or only those of the models
 * listed by AAGUID. Any software can claim an AAGUID, so a list demands that proof as well.
 */
export type Authenticators = 'attested' | string[]

/** What a registration said about the authenticator; the oldest stored passkeys lack these facts. */
export interface AuthenticatorFacts {
  /** The model that the authenticator claims to be, in lower case. */
  aaguid?: string
  /** Format of the attestation: `none`, `packed`, `tpm`. */
  attestation?: string
  /** The attestation was signed under a certificate that chains to a root of that model. */
  attested?: true
}

/** Checks whether a policy counts this passkey. Without a rule, every passkey counts. */
export function permits(rule: Authenticators | undefined, { aaguid, attested }: AuthenticatorFacts): boolean {
  if (rule === undefined) return true
  return attested === true && (rule === 'attested' || (aaguid !== undefined && rule.includes(aaguid)))
}

/** Combines two rules into one that demands both. No passkey satisfies an empty list. */
export function narrower(
  one: Authenticators | undefined,
  other: Authenticators | undefined,
): Authenticators | undefined {
  if (one === undefined || one === 'attested') return other ?? one
  return other === undefined || other === 'attested' ? one : one.filter((aaguid) => other.includes(aaguid))
}

/** Writes a rule on one line, for the audit trail. */
export function authenticatorWords(rule: Authenticators): string {
  return rule === 'attested' ? rule : rule.join(' ')
}
