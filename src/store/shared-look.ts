import type { News } from '../flow/ports.ts'
import type { ApiKeyStore } from './api-keys.ts'
import type { RequestStore } from './requests.ts'

interface Asked {
  requestId: string
  keyId: string
  resolve: (news: News) => void
  reject: (error: unknown) => void
}

/** Requests read at once: enough to be few commands, few enough to be small ones. */
const BATCH = 200

/**
 * Reads for many waiters together: a thousand woken by one poll cost a handful of commands, not two thousand. One batch at
 * a time, so that batches grow as the store slows down. The key is read in the same moment as the request (T54).
 */
export function createSharedLook(stores: {
  requests: Pick<RequestStore, 'findMany'>
  apiKeys: Pick<ApiKeyStore, 'revokedAmong'>
}): (requestId: string, keyId: string) => Promise<News> {
  const asked: Asked[] = []
  let working = false
  const work = async (): Promise<void> => {
    while (asked.length > 0) await answer(stores, asked.splice(0, BATCH))
    working = false
  }
  return (requestId, keyId) =>
    new Promise((resolve, reject) => {
      asked.push({ requestId, keyId, resolve, reject })
      if (working) return
      working = true
      // Everybody woken in this turn of the event loop asks in this turn.
      setImmediate(work)
    })
}

async function answer(
  { requests, apiKeys }: Parameters<typeof createSharedLook>[0],
  batch: readonly Asked[],
): Promise<void> {
  try {
    const [found, revoked] = await Promise.all([
      requests.findMany([...new Set(batch.map((one) => one.requestId))]),
      apiKeys.revokedAmong([...new Set(batch.map((one) => one.keyId))]),
    ])
    const byId = new Map(found.map((request) => [request.id, request]))
    const dead = new Set(revoked)
    for (const { requestId, keyId, resolve } of batch)
      resolve({ request: byId.get(requestId), revoked: dead.has(keyId) })
  } catch (error) {
    for (const { reject } of batch) reject(error)
  }
}
