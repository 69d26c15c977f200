import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, inject } from 'vitest'
import type { User } from '../../src/domain/user.ts'
import { connectStore, type StoreConnection } from '../../src/store/mongo/connect.ts'
import { createAttemptStore } from '../../src/store/people/attempts.ts'
import { createEnrollmentStore } from '../../src/store/people/enrollments.ts'
import { createSessionStore } from '../../src/store/people/sessions.ts'
import { createUserStore } from '../../src/store/people/users.ts'
import { createChallengeStore } from '../../src/store/requests/challenges.ts'
import { makeIndexes } from '../../src/store/schema/indexes.ts'
import { databaseUri } from './service.ts'

/** The stores of the people part on a database of their own, with their indexes. */
export interface PeopleStores {
  users: ReturnType<typeof createUserStore>
  challenges: ReturnType<typeof createChallengeStore>
  sessions: ReturnType<typeof createSessionStore>
  enrollments: ReturnType<typeof createEnrollmentStore>
  attempts: ReturnType<typeof createAttemptStore>
  connection: StoreConnection
}

/** Opens them before the tests of a file and drops the database after. `now` is what the attempt counters go by. */
export function usePeopleStores(now: () => Date = () => new Date()): () => PeopleStores {
  let connection: StoreConnection | undefined
  let stores: PeopleStores | undefined
  beforeAll(async () => {
    const database = `stores_${randomBytes(6).toString('hex')}`
    connection = await connectStore(databaseUri(inject('storeUri'), database))
    stores = {
      users: createUserStore(connection),
      challenges: createChallengeStore(connection),
      sessions: createSessionStore(connection),
      enrollments: createEnrollmentStore(connection),
      attempts: createAttemptStore(connection, { now }),
      connection,
    }
    await makeIndexes(connection)
  })
  afterAll(async () => {
    await connection?.db?.dropDatabase()
    await connection?.close()
  })
  return () => {
    if (stores === undefined) throw new Error('the stores are not open')
    return stores
  }
}

let made = 0

/** A person as an invitation makes them, different every time. */
export function freshUser(more: Partial<User> = {}): User {
  made += 1
  const unique = made.toString().padStart(16, '0')
  return {
    id: `usr_${unique}`,
    email: `person${made}@example.com`,
    name: 'Person',
    account_id: `acc_${unique}`,
    approver: unique,
    user_handle: unique,
    default_ttl_seconds: 3600,
    passkeys: [],
    backup_codes: [],
    devices: [],
    chat: [],
    created_at: new Date(made),
    enrolled_at: null,
    version: 0,
    audit: [],
    ...more,
  }
}

/** A passkey as it is stored. */
export function storedPasskey(credentialId: string, counter = 0): User['passkeys'][number] {
  return {
    id: `pky_${credentialId}`,
    credential_id: credentialId,
    public_key: 'AAAA',
    algorithm: -7,
    name: 'key',
    counter,
    transports: ['internal'],
    backup_eligible: false,
    synced: false,
    created_at: new Date(0),
    last_used_at: null,
    suspended_at: null,
  }
}
