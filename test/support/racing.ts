import type { ApprovalRequest } from '../../src/domain/request.ts'
import type { Caller } from '../../src/flow/keys/authenticate-caller.ts'
import { createApiKey } from '../../src/flow/keys/manage-api-keys.ts'
import { createRequest } from '../../src/flow/requests/create-request.ts'
import { type Decider, deciderOf } from './deciders.ts'
import { enrolWithPasskey } from './enrolled.ts'
import { startService, type TestService } from './service.ts'

/** Four services on one database: as four processes, each with caches, pools and clocks of its own. */
export interface Racing {
  /** One of the four, by turns. */
  at(index: number): TestService
  /** The owner, who decides alone. */
  decider: Decider
  /** A live key of theirs. */
  caller: Caller
  /** Makes a request. @returns its id */
  make(fields?: { action?: string; context?: Record<string, unknown> }): Promise<string>
  stored(id: string): Promise<ApprovalRequest>
  close(): Promise<void>
}

/** Starts them on a database of their own, with one owner and no quota. */
export async function startRacing(database: string): Promise<Racing> {
  const first = await startService({ database })
  const services = [first]
  for (let index = 1; index < 4; index += 1)
    services.push(await startService({ database, env: { BASE_URL: first.url } }))
  const { deps, connection } = first.composition
  const decider = await deciderOf(first, await enrolWithPasskey(first, 'owner@example.com'))
  const accountId = decider.user.account_id
  const { key } = await createApiKey(deps, { accountId, name: 'races', sandbox: false }, { kind: 'cli' })
  const caller: Caller = { key, scopes: key.scopes, address: '127.0.0.1' }
  await connection
    .collection<{ _id: string }>('accounts')
    .updateOne({ _id: accountId }, { $set: { monthly_quota: 0 } })
  return {
    at: (index) => services[index % services.length] ?? first,
    decider,
    caller,
    async make({ action = 'Pay 10', context = {} } = {}) {
      const input = { action, context, requires_individual_decision: false, ttl_seconds: 600 }
      return (await createRequest(deps, caller, input)).request.id
    },
    async stored(id) {
      const request = await deps.requests.find(id)
      if (request === undefined) throw new Error(`no ${id}`)
      return request
    },
    async close() {
      await connection.db?.dropDatabase()
      for (const service of services) await service.close()
    },
  }
}
