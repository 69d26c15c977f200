import { expect, it } from 'vitest'
import { callerWith, stored } from '../../support/caller.ts'
import { enrolWithPasskey } from '../../support/enrolled.ts'
import { addKey } from '../../support/people.ts'
import { useService } from '../../support/service.ts'

it('409 sandbox_request: nobody decides a dry-run, it decides itself', async () => {
  const service = await useService()
  const person = await enrolWithPasskey(service, 'owner@example.com')
  const user = await service.composition.deps.users.find(person.userId)
  if (user === undefined) throw new Error('no such person')
  const key = await addKey(service, user, { sandbox: true })
  const id = await callerWith(service, user, key.raw_key, key.id).createdId({
    sandbox_auto_decide_seconds: 300,
  })
  const review = await person.browser.get(`/api/v1/approvals/${id}/review`)
  expect(review.body).toMatchObject({ sandbox: true, may_decide: false, why_not: 'sandbox_request' })
  for (const path of ['decision/options', 'decision']) {
    const body = { decision: 'approved', totp: '123456' }
    const answer = await person.browser.post(`/api/v1/approvals/${id}/${path}`, body)
    expect([answer.status, answer.body.error]).toEqual([409, 'sandbox_request'])
  }
  expect(await stored(service, 'requests').findOne({ _id: id })).toMatchObject({
    status: 'pending',
    votes: [],
  })
})
