import { expect, it } from 'vitest'
import { REFUSALS } from '../../src/domain/errors.ts'
import { decide } from '../../src/flow/requests/decide.ts'
import { verifyDecision } from '../../src/flow/requests/verify-receipt.ts'
import { verifyReceiptJson } from '../../src/signing/verify-node.ts'
import { approve, decideBatch } from '../support/batches.ts'
import { deciderOf, proveFor, setPolicy } from '../support/deciders.ts'
import { enrolWithPasskey, expectStatus } from '../support/enrolled.ts'
import { ask, callWithKey, decideByPasskey, setUpOwner } from '../support/live.ts'
import { type TestService, useService } from '../support/service.ts'

/** A request that both of two people must approve. */
async function askTwo(service: TestService) {
  const setting = await setUpOwner(service)
  const first = await deciderOf(service, setting.owner)
  const second = await deciderOf(service, await enrolWithPasskey(service, 'second@example.com'))
  const approvers = [first.user.id, second.user.id]
  await setPolicy(service, first.user.account_id, { approvers, quorum: 2 })
  const id = await ask(setting)
  return { first, second, id, key: setting.key }
}

it('T73: signs a vote cast before a key rotation with the key of its time, so that the quorum can still close', async () => {
  let ahead = 0
  const service = await useService({ localTime: () => Date.now() + ahead })
  const { deps } = service.composition
  const { first, second, id } = await askTwo(service)
  const before = deps.keys.ring().active('decision', deps.clock.now())
  await decide(deps, first, await proveFor(deps, first, id, 'approved'))
  ahead = 2_000
  const after = await deps.keys.rotate('decision', deps.clock.now(), { kind: 'cli' })
  ahead = 4_000
  const { request } = await decide(deps, second, await proveFor(deps, second, id, 'approved'))
  expect(request.status).toBe('approved')
  expect(request.votes.map((vote) => vote.receipt?.public_key_id)).toEqual([before?.kid, after.kid])
  expect(request.decision?.receipt.public_key_id).toBe(after.kid)
  for (const vote of request.votes) {
    const shown = { decision_id: vote.decision_id, decision: vote.decision, ...vote.receipt }
    expect(verifyReceiptJson(shown, deps.keys.ring().publicRecords())).toMatchObject({ valid: true })
  }
  const online = () => verifyDecision(deps, id, { kind: 'public', address: '192.0.2.1' })
  expect(await online()).toMatchObject({ valid: true })
  ahead = 60_000
  await deps.keys.revoke(before?.kid ?? '', new Date(Date.now() - 60_000), { kind: 'cli' })
  // As offline: the first of the two approvals does not count any more.
  expect(await online()).toMatchObject({ valid: false, code: 'receipt_votes_disagree' })
})

it('T73: refuses to close over a vote whose key was revoked since, and calls no store damaged', async () => {
  let ahead = 0
  const service = await useService({ localTime: () => Date.now() + ahead })
  const { deps } = service.composition
  const { first, second, id, key } = await askTwo(service)
  const before = deps.keys.ring().active('decision', deps.clock.now())
  await decide(deps, first, await proveFor(deps, first, id, 'approved'))
  ahead = 2_000
  await deps.keys.rotate('decision', deps.clock.now(), { kind: 'cli' })
  ahead = 40_000
  await deps.keys.revoke(before?.kid ?? '', new Date(Date.now() - 60_000), { kind: 'cli' })
  const [status, message] = REFUSALS.vote_key_revoked
  const refused = await decideByPasskey({ service, owner: second.person }, id, 'approved')
  expect([refused.status, refused.body]).toEqual([status, { error: 'vote_key_revoked', message }])
  const { data } = expectStatus(await decideBatch(service, second.person, approve(id)), 200)
  expect(data).toEqual([{ id, status: 'pending', error: { code: 'vote_key_revoked', message } }])
  expect((await deps.requests.find(id))?.votes).toHaveLength(1)
  const withdrawn = await callWithKey(service, key, `/${id}/cancel`, {})
  expect([withdrawn.status, await withdrawn.json()]).toMatchObject([200, { status: 'expired' }])
})

it('is not valid online, either, where the votes in the store are not those that were signed', async () => {
  const service = await useService()
  const { deps, connection } = service.composition
  const { first, second, id } = await askTwo(service)
  for (const one of [first, second]) await decide(deps, one, await proveFor(deps, one, id, 'approved'))
  const { votes = [], decision } = (await deps.requests.find(id)) ?? {}
  const [vote, closing] = votes
  const { receipt: _gone, ...unsigned } = vote ?? {}
  const online = () => verifyDecision(deps, id, { kind: 'public', address: '192.0.2.1' })
  const requests = connection.collection<{ _id: string }>('requests')
  for (const altered of [
    { votes: [closing] },
    { votes: [closing, closing] },
    { votes: [unsigned, closing] },
    { votes: [{ ...vote, approver: 'f'.repeat(16) }, closing] },
    { votes: [{ ...vote, method: 'totp' }, closing] },
    { votes: [{ ...vote, intent_json: closing?.intent_json }, closing] },
    { decision: { ...decision, approver: 'f'.repeat(16) } },
  ]) {
    expect(await online()).toMatchObject({ valid: true })
    const before = await requests.findOne({ _id: id })
    await requests.updateOne({ _id: id }, { $set: altered })
    expect(await online(), Object.keys(altered).join()).toMatchObject({ valid: false })
    await requests.replaceOne({ _id: id }, Object(before))
  }
})
