import { expect, it } from 'vitest'
import type { ApprovalRequest } from '../../src/domain/request.ts'
import type { Caller } from '../../src/flow/keys/authenticate-caller.ts'
import { type CreateInput, createRequest } from '../../src/flow/requests/create-request.ts'
import { newCaller, stored } from '../support/caller.ts'
import { clockOf } from '../support/clock.ts'
import { type TestService, useService } from '../support/service.ts'

const INPUT: CreateInput = { action: 'Deploy', context: {}, requires_individual_decision: false }

async function callerOf(service: TestService): Promise<Caller> {
  const { keyId } = await newCaller(service)
  const key = await service.composition.deps.apiKeys.find(keyId)
  if (key === undefined) throw new Error('the key is gone')
  return { key, scopes: key.scopes, address: '127.0.0.1' }
}

/** What is counted, by month. */
async function used(service: TestService, { key }: Caller): Promise<Record<string, unknown>> {
  const counters = await stored(service, 'quotas')
    .find({ used: { $gte: 0 } })
    .toArray()
  const own = counters.filter(({ _id }) => _id.startsWith(`${key.account_id}:`))
  return Object.fromEntries(own.map(({ _id, used: count }) => [_id.slice(-7), count]))
}

/** Every look at the clock is half a second later than the one before; the new year begins at the second look. */
function clockOverNewYear() {
  let at = Date.parse('2030-12-31T23:59:59.750Z') - 500
  return clockOf(() => {
    at += 500
    return at
  })
}

it.each([
  ['counts a request whose insert got no answer', true, [1]],
  ['gives the quota back when nothing was inserted', false, [0]],
])('%s', async (_what, stands, counted) => {
  const service = await useService()
  const caller = await callerOf(service)
  const { requests } = service.composition.deps
  const insert: typeof requests.insert = async (...what) => {
    if (stands) await requests.insert(...what)
    throw new Error('the connection was lost')
  }
  const deps = { ...service.composition.deps, requests: { ...requests, insert } }
  const created = createRequest(deps, caller, INPUT)
  await expect(created).rejects.toThrow('the connection was lost')
  expect(Object.values(await used(service, caller))).toEqual(counted)
})

it('counts a request in the month it carries, also when the next one begins meanwhile', async () => {
  const service = await useService()
  const caller = await callerOf(service)
  const deps = { ...service.composition.deps, clock: clockOverNewYear() }
  const { request } = await createRequest(deps, caller, INPUT)
  expect(request.created_at.toISOString()).toBe('2030-12-31T23:59:59.750Z')
  expect(await used(service, caller)).toEqual({ '2030-12': 1 })
})

it('gives a quota back to the month it was taken from', async () => {
  const service = await useService()
  const caller = await callerOf(service)
  const requests = {
    ...service.composition.deps.requests,
    insert: async (_request: ApprovalRequest): Promise<boolean> => {
      throw new Error('the store is gone')
    },
  }
  const deps = { ...service.composition.deps, requests, clock: clockOverNewYear() }
  const made = createRequest(deps, caller, INPUT)
  await expect(made).rejects.toThrow('the store is gone')
  expect(await used(service, caller)).toEqual({ '2030-12': 0 })
})
