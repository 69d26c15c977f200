import type { User } from '../../domain/user.ts'
import { toBase64Url } from '../../signing/encoding.ts'
import type { PeopleDeps } from './people-deps.ts'

/** Browsers remembered per person; the oldest goes. */
const MAX_DEVICES = 20

/**
 * A token that makes this browser a known one: only there do codes sign in, so that a phished code alone opens nothing
 * (T15). Always a fresh token: one that was planted before must not become known.
 */
export function drawDevice(deps: Pick<PeopleDeps, 'random' | 'vault' | 'clock'>): {
  token: string
  entry: User['devices'][number]
} {
  const token = toBase64Url(deps.random.bytes(32))
  return { token, entry: { hash: deps.vault.hash('device', token), created_at: deps.clock.now() } }
}

/** The person's browsers with one more. */
export function withDevice(devices: User['devices'], entry: User['devices'][number]): User['devices'] {
  return [...devices, entry].slice(-MAX_DEVICES)
}
