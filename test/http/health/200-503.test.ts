import { expect, it } from 'vitest'
import { buildInfo } from '../../../src/config/package-path.ts'
import { newCaller, send } from '../../support/caller.ts'
import { startService, useService } from '../../support/service.ts'

it('200: /healthz answers while the process lives, /readyz while the store does', async () => {
  const service = await useService()
  const health = await send(service, '/healthz')
  expect([health.status, health.body]).toEqual([200, { status: 'ok', ...buildInfo() }])
  const ready = await send(service, '/readyz')
  expect([ready.status, ready.body]).toEqual([200, { status: 'ready' }])
  expect(ready.headers.get('cache-control')).toBe('no-store')
})

it('503: without the store /readyz and every request that needs it say storage_unavailable; /healthz stays', async () => {
  const owner = await useService()
  const service = await startService({ database: owner.composition.connection.name })
  const caller = await newCaller(service)
  const id = await caller.createdId()
  await service.composition.connection.close()
  const ready = await send(service, '/readyz')
  expect([ready.status, ready.body.error]).toEqual([503, 'storage_unavailable'])
  expect((await send(service, '/healthz')).status).toBe(200)
  const answers = [
    await caller.read(id),
    await caller.create({ action: 'x' }),
    await caller.send('/api/v1/approvals'),
    await send(service, `/api/v1/approvals/${id}/verify`),
  ]
  for (const answer of answers) {
    expect(answer.status).toBe(503)
    const message = expect.any(String)
    expect(answer.body).toEqual({ error: 'storage_unavailable', message, retry_after: 3 })
    expect(answer.headers.get('retry-after')).toBe('3')
  }
  await service.close()
})
