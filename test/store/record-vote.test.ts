import { afterAll, beforeAll, expect, it } from 'vitest'
import { drawEvent } from '../../src/domain/event.ts'
import { drawId } from '../../src/domain/identifier.ts'
import type { ApprovalRequest, RequestChange } from '../../src/domain/request.ts'
import { auditEntry, votingChange } from '../../src/flow/requests/close-request.ts'
import { ask, type LiveSetting, setUpOwner } from '../support/live.ts'
import { startService, type TestService } from '../support/service.ts'

let service: TestService
let setting: LiveSetting
beforeAll(async () => {
  service = await startService()
  setting = await setUpOwner(service)
})
afterAll(() => service.close())

async function stored(id: string): Promise<ApprovalRequest> {
  return (await service.composition.deps.requests.find(id)) ?? expect.unreachable()
}

function voteOn(request: ApprovalRequest): RequestChange {
  const { deps } = service.composition
  const approver = request.requirement.approvers[0] ?? expect.unreachable()
  const vote = {
    decision_id: drawId(deps, 'dec'),
    user_id: approver.user_id,
    on_behalf_of: approver.user_id,
    approver: approver.approver,
    decision: 'approved' as const,
    method: 'totp' as const,
    at: deps.clock.now(),
    comment: null,
    intent_json: '{}',
    evidence: { type: 'totp' as const, step: 1 },
  }
  return votingChange(deps, request, vote, { kind: 'service' })
}

async function lapse(id: string): Promise<void> {
  const requests = service.composition.connection.collection<{ _id: string }>('requests')
  await requests.updateOne({ _id: id }, { $set: { expires_at: new Date(Date.now() - 1_000) } })
}

it('T75, T77: no vote is written on a lapsed request, although it still says pending: the database judges', async () => {
  const { requests } = service.composition.deps
  const request = await stored(await ask(setting))
  await lapse(request.id)
  expect(await requests.recordVote(request.id, request.version, voteOn(request))).toBeUndefined()
  expect(await stored(request.id)).toMatchObject({ status: 'pending', votes: [], version: request.version })
})

it('T76: a vote names the version it was cast on, and counts on no other', async () => {
  const { requests } = service.composition.deps
  const request = await stored(await ask(setting))
  const first = await requests.recordVote(request.id, request.version, voteOn(request))
  expect(first).toMatchObject({ version: request.version + 1, votes: [{ decision: 'approved' }] })
  expect(await requests.recordVote(request.id, request.version, voteOn(request))).toBeUndefined()
  expect((await stored(request.id)).votes).toHaveLength(1)
})

it('T77: nothing expires before its time, whoever asks', async () => {
  const { deps } = service.composition
  const request = await stored(await ask(setting))
  const at = deps.clock.now()
  const event = drawEvent(deps, 'approval.expired', at, {})
  const audit = auditEntry(deps, request, 'approval.expired', { kind: 'service' }, at)
  expect(await deps.requests.expire(request.id, event, audit)).toBeUndefined()
  await lapse(request.id)
  expect(await deps.requests.expire(request.id, event, audit)).toMatchObject({ status: 'expired' })
})

it('what a restore holds is neither voted on nor used by the write itself: a hold may begin after a request was read', async () => {
  const { deps, connection } = service.composition
  const { requests, restores } = deps
  const before = await stored(await ask(setting))
  await restores.mark({
    id: drawId(deps, 'cpy'),
    copied_by: 'operator',
    copied_on: 'ann@host',
    copied_at: new Date(),
  })
  const mark = (await restores.all()).at(-1) ?? expect.unreachable()
  await restores.hold(mark.id, 1)
  const after = await stored(await ask(setting))
  const vote = (request: ApprovalRequest) => requests.recordVote(request.id, request.version, voteOn(request))
  const use = async ({ id }: ApprovalRequest) => {
    await connection
      .collection<{ _id: string }>('requests')
      .updateOne({ _id: id }, { $set: { status: 'approved' } })
    const entry = auditEntry(deps, before, 'approval.consumed', { kind: 'service' }, new Date())
    return requests.consume(id, { consumed_at: new Date() }, entry)
  }
  expect([await vote(before), await use(before)]).toEqual([undefined, undefined])
  expect(await vote(after)).toBeDefined()
  expect(await use(after)).toBeDefined()
  await restores.lift(mark.id, new Date())
  expect(await use(before)).toBeDefined()
})
