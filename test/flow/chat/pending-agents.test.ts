import { afterAll, beforeAll, expect, it } from 'vitest'
import { begin, consent, setStored } from '../../support/bootstraps.ts'
import { stored } from '../../support/caller.ts'
import { linkTo, newSpeaker, say } from '../../support/chat-speaker.ts'
import { enrolWithPasskey, expectStatus } from '../../support/enrolled.ts'
import { asMembers } from '../../support/members.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ env: { TRUST_PROXY: '1' } })
})
afterAll(() => service.close())

async function person(email: string) {
  const enrolled = await enrolWithPasskey(service, email)
  const speaker = newSpeaker()
  await linkTo(service, enrolled, speaker)
  return { enrolled, speaker }
}

const nothing = () => ({ kind: 'pending', rows: [], more: 0, open: `${service.url}/` })

it('pending counts the agents that wait for a key, and none that is answered or too late', async () => {
  const { enrolled, speaker } = await person('owner@example.com')
  expect(await say(service, speaker, 'pending')).toEqual(nothing())
  const [first, second] = [await begin(service, enrolled.email), await begin(service, enrolled.email)]
  const answer = await say(service, speaker, 'pending')
  expect(answer).toEqual({ ...nothing(), agents: 2 })
  // Neither the agent's own word nor a secret.
  for (const hidden of ['Release agent', first.code, first.secret])
    expect(JSON.stringify(answer)).not.toContain(hidden)
  expectStatus(await consent(service, enrolled, first), 200)
  expect(await say(service, speaker, 'pending')).toEqual({ ...nothing(), agents: 1 })
  await setStored(service, second.secret, { expires_at: new Date(Date.now() - 1_000) })
  expect(await say(service, speaker, 'pending')).toEqual(nothing())
})

it('pending tells nobody but the owner of them, not even another approver of the account', async () => {
  const owner = await person('asked@example.com')
  const other = await person('other@example.com')
  const { account_id } =
    (await service.composition.deps.users.find(owner.enrolled.userId)) ?? expect.unreachable()
  const approvers = [owner.enrolled.userId, other.enrolled.userId]
  await stored(service, 'accounts').updateOne(
    { _id: account_id },
    { $set: { policy: { approvers, quorum: 1, passkey_only: false }, members: asMembers(approvers) } },
  )
  await begin(service, owner.enrolled.email)
  expect(await say(service, owner.speaker, 'pending')).toEqual({ ...nothing(), agents: 1 })
  expect(await say(service, other.speaker, 'pending')).toEqual(nothing())
  expect(await say(service, newSpeaker(), 'pending')).toMatchObject({ kind: 'notice', tone: 'refused' })
})
