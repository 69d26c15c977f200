import { expect, it } from 'vitest'
import { approve, BATCH, proveBatch, setDelegate } from './batches.ts'
import { expectStatus } from './enrolled.ts'
import { ask, decideByPasskey, setUpOwner } from './live.ts'
import { asMembers } from './members.ts'
import type { TestService } from './service.ts'
import { documented, refused } from './witness.ts'

const OPTIONS = `${BATCH}/options`

/** Tests that hold the answers about batches, and about decisions of delegates, against the document. */
export function itAnswersAboutBatches(service: () => TestService): void {
  it('when many requests are decided with one gesture', async () => {
    const setting = await setUpOwner(service(), 'batch@example.com')
    const { browser } = setting.owner
    const [first, second] = [await ask(setting), await ask(setting)]
    const started = await browser.post(OPTIONS, { items: approve(first, second) })
    documented('post', OPTIONS, 200, started)
    const twice = await browser.post(OPTIONS, { items: approve(first, first) })
    refused('post', OPTIONS, 400, twice, 'invalid_field')
    const stale = await proveBatch(service(), setting.owner, approve(first, second))
    const proven = await proveBatch(service(), setting.owner, approve(first))
    const { data } = documented('post', BATCH, 200, await browser.post(BATCH, proven))
    expect(data).toMatchObject([{ id: first, status: 'approved', decision: { decision: 'approved' } }])
    refused('post', BATCH, 409, await browser.post(BATCH, stale), 'batch_changed')
    refused('post', BATCH, 400, await browser.post(BATCH, stale), 'challenge_invalid')
    const late = await browser.post(OPTIONS, { items: approve(first) })
    refused('post', OPTIONS, 409, late, 'not_pending')
  })

  it('when a delegate decides', async () => {
    const away = await setUpOwner(service(), 'away@example.com')
    const delegate = await setUpOwner(service(), 'delegate@example.com')
    const account = (await service().composition.deps.users.find(away.owner.userId))?.account_id
    const accounts = service().composition.connection.collection<{ _id: string }>('accounts')
    const members = asMembers([delegate.owner.userId])
    await accounts.updateOne({ _id: account ?? '' }, { $set: { members } })
    await setDelegate(service(), away.owner.userId, delegate.owner.userId)
    const id = await ask(away)
    const { browser } = delegate.owner
    const path = '/api/v1/approvals/{id}'
    const waiting = documented('get', '/api/v1/me/pending', 200, await browser.get('/api/v1/me/pending'))
    expect(waiting.data).toMatchObject([{ id, on_behalf_of: { name: expect.any(String) } }])
    const review = await browser.get(`/api/v1/approvals/${id}/review`)
    expect(documented('get', `${path}/review`, 200, review).on_behalf_of).not.toBeNull()
    const asked = await browser.post(`/api/v1/approvals/${id}/decision/options`, { decision: 'rejected' })
    expect(documented('post', `${path}/decision/options`, 200, asked).intent).toHaveProperty('delegate')
    const decided = await decideByPasskey({ service: service(), owner: delegate.owner }, id, 'rejected')
    documented('post', `${path}/decision`, 200, decided)
    const read = expectStatus(await away.owner.browser.get(`/api/v1/approvals/${id}/review`), 200)
    expect(read.decision.delegate).toBe(decided.body.decision.delegate)
    expect(decided.body.decision.delegate).toMatch(/^[0-9a-f]{16}$/)
  })
}
