import type { PeopleDeps } from './people-deps.ts'

/** Crockford base 32: no I, L, O or U, so that a handwritten code can be read back. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

const COUNT = 10
const LENGTH = 10

/** Ten fresh codes of 50 bits, `XXXXX-XXXXX`, and their keyed hashes. The codes are shown once. */
export function drawBackupCodes(
  deps: Pick<PeopleDeps, 'random' | 'vault'>,
  userId: string,
): { codes: string[]; hashes: string[] } {
  const plain = Array.from({ length: COUNT }, () =>
    Array.from(deps.random.bytes(LENGTH), (byte) => ALPHABET.charAt(byte & 31)).join(''),
  )
  return {
    codes: plain.map((code) => `${code.slice(0, 5)}-${code.slice(5)}`),
    hashes: plain.map((code) => hashOf(deps, userId, code)),
  }
}

/**
 * Keyed hash of a code as typed: case, hyphens, spaces and Crockford's look-alikes do not matter.
 * @returns undefined when it is not shaped like a code
 */
export function backupCodeHash(
  deps: Pick<PeopleDeps, 'vault'>,
  userId: string,
  typed: string,
): string | undefined {
  const code = typed.toUpperCase().replace(/[\s-]/g, '').replace(/O/g, '0').replace(/[IL]/g, '1')
  return /^[0-9A-HJKMNP-TV-Z]{10}$/.test(code) ? hashOf(deps, userId, code) : undefined
}

/** The person's id goes in, so that equal codes of two people have different hashes. */
function hashOf(deps: Pick<PeopleDeps, 'vault'>, userId: string, code: string): string {
  return deps.vault.hash('backup-code', `${userId}:${code}`)
}
