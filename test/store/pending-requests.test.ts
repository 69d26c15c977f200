import { expect, it } from 'vitest'
import { newCaller, stored } from '../support/caller.ts'
import { useService } from '../support/service.ts'

it('lists a person’s pending requests even behind more old requests than a page holds: lapsed ones, dry-runs and those with their vote', async () => {
  const service = await useService()
  const caller = await newCaller(service)
  const { requests } = service.composition.deps
  const waiting = await caller.createdId()
  const sample = await requests.find(waiting)
  if (sample === undefined) throw new Error('the request is gone')
  const { id: _id, ...rest } = sample
  const old = { ...rest, created_at: new Date(sample.created_at.getTime() - 3_600_000) }
  const copies = (letter: string, change: object) =>
    Array.from({ length: 3 }, (_, index) => ({ ...old, ...change, _id: `req_${letter}${index}` }))
  await stored(service, 'requests').insertMany([
    ...copies('lapsed', { expires_at: new Date(Date.now() - 1_000) }),
    ...copies('dryrun', { sandbox: true }),
    ...copies('voted', { votes: [{ on_behalf_of: caller.user.id }] }),
  ])
  const who = { user_id: caller.user.id, principals: [], accounts: [] }
  expect((await requests.pendingFor(who, 2)).map(({ id }) => id)).toEqual([waiting])
  // A delegate sees as much: not those with the vote of the principal, of which a second vote may still be missing.
  const delegate = { user_id: 'usr_delegate', principals: [caller.user.id], accounts: [rest.account_id] }
  expect((await requests.pendingFor(delegate, 2)).map(({ id }) => id)).toEqual([waiting])
})
