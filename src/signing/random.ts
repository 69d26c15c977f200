import { randomBytes } from 'node:crypto'

const POOL_BYTES = 4096

/**
 * Cryptographic randomness for ids, tokens and challenges. Drawn from the system in large blocks: a block costs little more
 * than a single id, and creating a request draws five. Bytes handed out are wiped from the block, so it cannot leak them later.
 */
export function createRandom(): { bytes(length: number): Uint8Array } {
  let pool = Buffer.alloc(0)
  return {
    bytes(length) {
      if (length > POOL_BYTES) return Uint8Array.from(randomBytes(length))
      if (length > pool.length) pool = randomBytes(POOL_BYTES)
      const drawn = Uint8Array.from(pool.subarray(0, length))
      pool.fill(0, 0, length)
      pool = pool.subarray(length)
      return drawn
    },
  }
}
