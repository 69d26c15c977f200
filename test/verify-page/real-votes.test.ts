import { expect, it } from 'vitest'
import { checkReceipts } from '../../dashboard/verify/check-receipts.ts'
import { verdictOf } from '../../dashboard/verify/verdict.ts'
import { decide } from '../../src/flow/requests/decide.ts'
import { verifyReceiptJson } from '../../src/signing/verify-node.ts'
import { examineJwks } from '../../src/signing/verify-web.ts'
import { splitVotes } from '../../src/signing/votes.ts'
import { createChatPlatform } from '../support/chat-platform.ts'
import { newSpeaker, say } from '../support/chat-speaker.ts'
import { deciderOf, proveFor, setPolicy } from '../support/deciders.ts'
import { enrolWithPasskey } from '../support/enrolled.ts'
import { ask, callWithKey, setUpOwner } from '../support/live.ts'
import { useService } from '../support/service.ts'

it('holds for the answer of the service about a request that two people approved, over a rotation of the key', async () => {
  let ahead = 0
  const service = await useService({ localTime: () => Date.now() + ahead, chats: [createChatPlatform()] })
  const { deps } = service.composition
  const setting = await setUpOwner(service)
  const first = await deciderOf(service, setting.owner)
  const second = await deciderOf(service, await enrolWithPasskey(service, 'second@example.com'))
  await setPolicy(service, first.user.account_id, { approvers: [first.user.id, second.user.id], quorum: 2 })
  const id = await ask(setting, { action: 'Pay twice', context: { amount: 2 } })
  await decide(deps, first, await proveFor(deps, first, id, 'approved'))
  ahead = 2_000
  await deps.keys.rotate('decision', deps.clock.now(), { kind: 'cli' })
  ahead = 4_000
  await decide(deps, second, await proveFor(deps, second, id, 'approved'))

  const answer: unknown = await (await callWithKey(service, setting.key, `/${id}`)).json()
  const keys = await examineJwks(await (await fetch(`${service.url}/.well-known/jwks.json`)).json())
  const report = await checkReceipts(splitVotes(Object(answer)), keys, { now: deps.clock.now() })
  const approvers = report.votes.flatMap(({ result }) => (result.valid ? [result.payload.approver] : []))
  expect(approvers).toHaveLength(2)
  expect(verdictOf(report)).toMatchObject({
    kind: 'approved',
    by: `Approved by ${approvers.join(', ')}`,
  })
  for (const { result } of report.votes)
    expect(result).toMatchObject({ valid: true, checked: { action: 'full', context: 'full' } })
  const [before] = report.votes.map(({ result }) => (result.valid ? result.kid : ''))
  expect(report.main.result).not.toMatchObject({ kid: before })
  // T73: once the key of the first vote alone is revoked, page and chat both warn of it.
  ahead = 40_000
  await deps.keys.revoke(before ?? '', new Date(Date.now() + 3_000), { kind: 'cli' })
  const now = deps.keys.ring().publicRecords()
  const later = verdictOf(await checkReceipts(splitVotes(Object(answer)), now, {}))
  expect(later).toMatchObject({ kind: 'approved' })
  expect(later.cautions).toContainEqual(expect.stringMatching(/^The key of one vote was revoked later, at /))
  const told = await say(service, newSpeaker(), `verify ${JSON.stringify(answer)}`)
  expect(told).toMatchObject({ view: { kind: 'approved', key_revoked_at: expect.any(Date) } })
})

it('holds for a request that one approved and one rejected, whose approval is no receipt for anybody', async () => {
  const service = await useService()
  const { deps } = service.composition
  const setting = await setUpOwner(service)
  const first = await deciderOf(service, setting.owner)
  const second = await deciderOf(service, await enrolWithPasskey(service, 'second@example.com'))
  await setPolicy(service, first.user.account_id, { approvers: [first.user.id, second.user.id], quorum: 2 })
  const id = await ask(setting, { action: 'Pay twice', context: { amount: 2 } })
  await decide(deps, first, await proveFor(deps, first, id, 'approved'))
  await decide(deps, second, await proveFor(deps, second, id, 'rejected'))

  const answer = Object(await (await callWithKey(service, setting.key, `/${id}`)).json())
  const keys = await examineJwks(await (await fetch(`${service.url}/.well-known/jwks.json`)).json())
  const told = await checkReceipts(splitVotes(answer), keys, { now: deps.clock.now() })
  expect(told.unsigned).toEqual([{ approver: first.user.approver }])
  expect(verdictOf(told)).toMatchObject({
    kind: 'rejected',
    by: `Rejected by ${second.user.approver}`,
  })
  // What somebody could hand on: the approval alone, as if it were the decision.
  const [vote] = answer.decision.votes
  expect(vote.decision).toBe('approved')
  const forged = { id, status: 'approved', action: answer.action, decision: vote }
  const report = await checkReceipts(splitVotes(forged), keys, { now: deps.clock.now() })
  expect(verdictOf(report).kind).toBe('invalid')
  expect(verifyReceiptJson(forged, keys)).toMatchObject({ valid: false, code: 'receipt_payload_malformed' })
})
