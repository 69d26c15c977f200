import { afterAll, beforeAll, expect, it } from 'vitest'
import type { VerificationKey } from '../../../src/signing/key-record.ts'
import { parseJwks } from '../../../src/signing/keys.ts'
import { verifyReceiptJson } from '../../../src/signing/verify-node.ts'
import { deciderOf, setPolicy } from '../../support/deciders.ts'
import { type EnrolledPerson, enrolWithPasskey } from '../../support/enrolled.ts'
import { payloadsIn } from '../../support/find-payloads.ts'
import { ask, callWithKey, decideByPasskey, type LiveSetting, setUpOwner } from '../../support/live.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let setting: LiveSetting
let people: [EnrolledPerson, EnrolledPerson, EnrolledPerson]
let keys: VerificationKey[]

beforeAll(async () => {
  service = await startService()
  setting = await setUpOwner(service)
  const others = [
    await enrolWithPasskey(service, 'second@example.com'),
    await enrolWithPasskey(service, 'third@example.com'),
  ] as const
  people = [setting.owner, ...others]
  const { user } = await deciderOf(service, setting.owner)
  await setPolicy(service, user.account_id, { approvers: people.map(({ userId }) => userId), quorum: 3 })
  keys = parseJwks(await (await fetch(`${service.url}/.well-known/jwks.json`)).json())
})
afterAll(() => service.close())

/** Two approve, the third closes. @returns the three answers, and everything else that tells of the request */
async function decided(outcome: 'approved' | 'rejected') {
  const id = await ask(setting, { callback_url: 'https://receiver.example/hook' })
  const [first, second, third] = people
  const answers = [
    await decideByPasskey({ service, owner: first }, id, 'approved'),
    await decideByPasskey({ service, owner: second }, id, 'approved'),
    await decideByPasskey({ service, owner: third }, id, outcome),
  ]
  for (const { status } of answers) expect(status).toBe(200)
  const read = Object(await (await callWithKey(service, setting.key, `/${id}`)).json())
  const paths = [`/api/v1/approvals/${id}/review`, '/api/v1/me/pending', '/api/v1/account/requests']
  const pages = await Promise.all(people.flatMap((one) => paths.map((path) => one.browser.get(path))))
  for (const { status } of pages) expect(status).toBe(200)
  const verified = await Promise.all(
    [id, ...answers.map(({ body }) => body.decision?.id ?? id)].map(async (one) =>
      (await fetch(`${service.url}/api/v1/approvals/${one}/verify`)).json(),
    ),
  )
  const listed: unknown = await (await callWithKey(service, setting.key, '')).json()
  const requests = service.composition.connection.collection<{ _id: string }>('requests')
  const stored = await requests.findOne({ _id: id })
  const everything = [answers.map(({ body }) => body), read, pages.map(({ body }) => body), verified, listed]
  return { read, everything, stored }
}

it('of a rejected request no answer and nothing stored holds an artefact that says approved', async () => {
  const { read, everything, stored } = await decided('rejected')
  expect(read.status).toBe('rejected')
  expect(stored).toMatchObject({ status: 'rejected', callback: { body: expect.any(String) } })
  for (const told of [everything, stored]) {
    expect(payloadsIn(told, 'approved')).toEqual([])
    expect(payloadsIn(told, 'rejected').length).toBeGreaterThan(0)
  }
})

it('the same search finds the signed approvals of an approved request', async () => {
  const { read, everything, stored } = await decided('approved')
  expect(read.status).toBe('approved')
  expect(payloadsIn(read, 'approved')).toHaveLength(4)
  expect(payloadsIn(everything, 'approved').length).toBeGreaterThan(4)
  expect(payloadsIn(Object(stored).votes, 'approved')).toHaveLength(3)
})

it('approvals before a rejection are told without a signature, the rejection with one', async () => {
  const { read } = await decided('rejected')
  const { votes } = read.decision
  expect(votes).toHaveLength(3)
  for (const vote of votes.slice(0, 2)) {
    expect(Object.keys(vote)).toEqual([
      'id',
      'decision',
      'method',
      'decided_at',
      'approver',
      'comment',
      'intent',
    ])
    expect(vote.decision).toBe('approved')
    for (const lie of [vote, { decision: vote }, { ...read, status: 'approved', decision: vote }])
      expect(verifyReceiptJson(lie, keys)).toMatchObject({ valid: false })
    // The one signature there is does not carry over either.
    const { signed_payload, signature, public_key_id } = votes[2]
    const borrowed = { ...vote, signed_payload, signature, public_key_id }
    expect(verifyReceiptJson(borrowed, keys)).toMatchObject({
      valid: false,
      code: 'receipt_contradicts_payload',
    })
  }
  expect(votes[2]).toMatchObject({ id: read.decision.id, signature: read.decision.signature })
  expect(verifyReceiptJson({ decision: votes[2] }, keys)).toMatchObject({
    valid: true,
    payload: { decision: 'rejected' },
  })
})
