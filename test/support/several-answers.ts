import { it } from 'vitest'
import { alter, newCaller } from './caller.ts'
import type { TestService } from './service.ts'
import { documented } from './witness.ts'

const PATH = '/api/v1/approvals'

/** Witnesses the answers to calls about several requests of a key. */
export function itAnswersAboutSeveral(service: () => TestService): void {
  it('about several requests at once', async () => {
    const caller = await newCaller(service())
    const json = { requests: [{ action: 'Deploy' }, { action: 'Test' }] }
    const init = { method: 'POST', json, headers: { 'Idempotency-Key': 'several' } }
    const { data } = documented('post', `${PATH}/requests`, 201, await caller.send(`${PATH}/requests`, init))
    const ids = data.map(({ id }: { id: string }) => id).join()
    documented('get', `${PATH}/wait`, 200, await caller.send(`${PATH}/wait?ids=${ids}&timeout=1`))
    // The stream ends with its key.
    const headers = { authorization: `Bearer ${caller.token}` }
    const stream = await fetch(`${service().url}${PATH}/events`, { headers })
    await alter(service(), 'api_keys', caller.keyId, { revoked_at: new Date() })
    const { status } = stream
    documented('get', `${PATH}/events`, 200, { status, headers: stream.headers, body: await stream.text() })
  })
}
