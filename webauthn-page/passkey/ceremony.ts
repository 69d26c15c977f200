import {
  type AuthenticationResponseJSON,
  browserSupportsWebAuthn,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
  startAuthentication,
  startRegistration,
} from '@simplewebauthn/browser'

/** The passkey prompt ended without a result; the message says what to do next. */
class CeremonyError extends Error {
  override readonly name = 'CeremonyError'
}

/** Can this browser, in this context (HTTPS or localhost), use passkeys at all? */
export const passkeysWork = browserSupportsWebAuthn

/** Asks for a passkey. @throws CeremonyError */
export async function usePasskey(
  options: PublicKeyCredentialRequestOptionsJSON,
): Promise<AuthenticationResponseJSON> {
  try {
    return await startAuthentication({ optionsJSON: options })
  } catch (error) {
    throw new CeremonyError(advice(error, 'Nothing was sent.'))
  }
}

/** Creates a passkey. @throws CeremonyError */
export async function createPasskey(
  options: PublicKeyCredentialCreationOptionsJSON,
): Promise<RegistrationResponseJSON> {
  try {
    return await startRegistration({ optionsJSON: options })
  } catch (error) {
    throw new CeremonyError(advice(error, 'No passkey was created.'))
  }
}

/** What each failure of the browser's prompt means for the person in front of it (WebAuthn Level 3, sections 5.1.3 and 5.1.4). */
function advice(error: unknown, outcome: string): string {
  const name = error instanceof Error ? error.name : ''
  if (name === 'InvalidStateError')
    return 'This device or security key already holds a passkey of yours for this service.'
  if (name === 'SecurityError')
    return 'This address is not the one the passkey belongs to. Open the service at its own address.'
  if (name === 'NotSupportedError')
    return `This device cannot make the kind of passkey that is needed. ${outcome}`
  if (name === 'NotAllowedError' || name === 'AbortError') {
    return `The passkey prompt was closed or timed out, or no passkey of yours is on this device. ${outcome} Try again.`
  }
  return `The passkey did not work. ${outcome} Try again, or use another way.`
}

/** A first name for a new passkey, such as "Chrome on Linux". */
export function deviceName(agent: string = navigator.userAgent): string {
  const find = (table: readonly (readonly [string, RegExp])[]): string | undefined =>
    table.find(([, pattern]) => pattern.test(agent))?.[0]
  const browser = find([
    ['Edge', /Edg\//],
    ['Firefox', /Firefox\//],
    ['Chrome', /Chrome\//],
    ['Safari', /Safari\//],
  ])
  const system = find([
    ['iPhone', /iPhone/],
    ['iPad', /iPad/],
    ['Android', /Android/],
    ['Mac', /Macintosh/],
    ['Windows', /Windows/],
    ['Linux', /Linux/],
  ])
  return `${browser ?? 'Browser'} on ${system ?? 'this device'}`
}
