async function digest(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
}

/** Lower-case hex SHA-256 of the UTF-8 text. */
export async function sha256Hex(text: string): Promise<string> {
  return Array.from(await digest(text), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Base64url SHA-256 of the UTF-8 text, without padding: the form of a WebAuthn challenge. */
export async function sha256Base64url(text: string): Promise<string> {
  const binary = String.fromCharCode(...(await digest(text)))
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
