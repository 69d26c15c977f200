/**
 * Which passkeys a policy counts: those whose authenticator proved its make when it was registered, or of these only the models
 * listed by AAGUID. An AAGUID alone is a claim that any software can make, so a list asks for the proof as well.
 */
export type Authenticators = 'attested' | string[]

/** What a registration said about the authenticator; absent from the first passkeys. */
export interface AuthenticatorFacts {
  /** The model it says it is, in small letters. */
  aaguid?: string
  /** Format of the attestation: `none`, `packed`, `tpm`. */
  attestation?: string
  /** The attestation was signed by a certificate that leads to a root of that model. */
  attested?: true
}

/** Does the policy count this passkey? Without a rule it counts any. */
export function permits(rule: Authenticators | undefined, { aaguid, attested }: AuthenticatorFacts): boolean {
  if (rule === undefined) return true
  return attested === true && (rule === 'attested' || (aaguid !== undefined && rule.includes(aaguid)))
}

/** What satisfies both; an empty list is satisfied by none. */
export function narrower(
  one: Authenticators | undefined,
  other: Authenticators | undefined,
): Authenticators | undefined {
  if (one === undefined || one === 'attested') return other ?? one
  return other === undefined || other === 'attested' ? one : one.filter((aaguid) => other.includes(aaguid))
}

/** In one line, for the trail. */
export function authenticatorWords(rule: Authenticators): string {
  return rule === 'attested' ? rule : rule.join(' ')
}
