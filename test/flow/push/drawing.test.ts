import { expect, it } from 'vitest'
import type { User } from '../../../src/domain/user.ts'
import { decide } from '../../../src/flow/requests/decide.ts'
import { newPush } from '../../../src/flow/tell/follow-pushes.ts'
import { drawNews } from '../../../src/flow/tell/send-pushes.ts'
import { deciderOf, proveFor, setPolicy } from '../../support/deciders.ts'
import { enrolWithPasskey } from '../../support/enrolled.ts'
import { ask, setUpOwner } from '../../support/live.ts'
import { useService } from '../../support/service.ts'

it('a push that waited says nothing to who has voted since, though the request is still pending', async () => {
  const service = await useService()
  const { deps } = service.composition
  const setting = await setUpOwner(service)
  const first = await deciderOf(service, setting.owner)
  const second = await deciderOf(service, await enrolWithPasskey(service, 'second@example.com'))
  const approvers = [first.user.id, second.user.id]
  await setPolicy(service, first.user.account_id, { approvers, quorum: 2 })
  const request_id = await ask(setting, { action: 'Pay' })
  const expires_at = new Date(deps.clock.now().getTime() + 60_000)
  const drawnFor = (user: User) => {
    const device = { id: 'psd_1', user_id: user.id, account_id: user.account_id, host: 'push.example.net' }
    const about = { kind: 'request', request_id } as const
    return drawNews(deps, newPush(deps, device, { event_id: 'evt_1', about, expires_at }))
  }
  expect(await drawnFor(first.user)).toMatchObject({ title: expect.any(String) })
  await decide(deps, first, await proveFor(deps, first, request_id, 'approved'))
  expect((await deps.requests.find(request_id))?.status).toBe('pending')
  expect(await drawnFor(first.user)).toBeUndefined()
  expect(await drawnFor(second.user)).toMatchObject({ title: expect.any(String) })
})
