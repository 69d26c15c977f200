import { randomBytes } from 'node:crypto'
import type { Config } from './config.ts'
import { createKeyKeeper, KEY_PURPOSES } from './flow/keep-keys.ts'
import type { Log } from './flow/ports.ts'
import { openStore } from './open-store.ts'
import { loadSecrets } from './secrets.ts'
import type { KeyPurpose } from './signing/keys.ts'
import { createVault } from './signing/vault.ts'
import { readHello } from './store/clock.ts'
import { connectStore, type StoreConnection } from './store/connect.ts'
import { createSigningKeyStore } from './store/signing-keys.ts'

/** What a store tells about itself, without a write. */
export interface StoreReport {
  /** Milliseconds the store's clock is ahead of this machine's. */
  skewMs: number
  /** MongoDB's replica set name; undefined on a single server and on the embedded store. */
  replicaSet: string | undefined
  /** Signing keys by purpose, or why they cannot be opened. */
  keys: { purpose: KeyPurpose; active: string | undefined; next: Date | undefined }[] | Error
}

/**
 * Looks at the store as `compose` would open it, but changes nothing in it.
 * @throws when it cannot be opened or does not answer
 */
export async function inspectStore(config: Config, log: Log): Promise<StoreReport> {
  const store = await openStore(config, true)
  try {
    const connection = await connectStore(store.uri)
    try {
      const hello = await readHello(connection)
      return { ...hello, keys: await readKeys(config, connection, hello.skewMs, log).catch(asError) }
    } finally {
      await connection.close()
    }
  } finally {
    await store.close()
  }
}

async function readKeys(config: Config, connection: StoreConnection, skewMs: number, log: Log) {
  const clock = { now: () => new Date(Date.now() + skewMs) }
  const random = { bytes: (length: number) => Uint8Array.from(randomBytes(length)) }
  const vault = createVault(await loadSecrets(config))
  const keeper = createKeyKeeper({ store: createSigningKeyStore(connection), vault, clock, random, log })
  const ring = await keeper.reload()
  const now = clock.now()
  return KEY_PURPOSES.map((purpose) => {
    const coming = ring.publicRecords().filter((key) => key.purpose === purpose && key.notBefore > now)
    const next = coming.map((key) => key.notBefore).sort((a, b) => a.getTime() - b.getTime())[0]
    return { purpose, active: ring.active(purpose, now)?.kid, next }
  })
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
