import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Scope } from '../../../src/domain/api-key.ts'
import { newCaller, stored } from '../../support/caller.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

/** What each route asks for, and its status when allowed. */
const ROUTES: [string, string, Scope | 'none', number][] = [
  ['POST', '/api/v1/approvals/request', 'approval:create', 201],
  // Before the first read, which decides a dry-run.
  ['POST', '/api/v1/approvals/:id/remind', 'none', 200],
  ['GET', '/api/v1/approvals', 'approval:read', 200],
  ['GET', '/api/v1/approvals/:id', 'approval:read', 200],
  ['GET', '/api/v1/approvals/:id/wait?timeout=1', 'approval:read', 200],
  ['GET', '/api/v1/approvals/:id/verify', 'none', 200],
  ['GET', '/api/v1/approvals/:id/receipt', 'approval:read', 200],
  ['GET', '/api/v1/account/webhook-secret', 'none', 200],
]
const SETS: Scope[][] = [
  ['approval:create'],
  ['approval:read'],
  ['approval:verify'],
  ['approval:create', 'approval:read'],
  ['approval:create', 'approval:read', 'approval:verify'],
]

describe('T57: scope × route × type of key', () => {
  it.each([true, false])('every combination answers as its scopes say (sandbox: %s)', async (sandbox) => {
    for (const scopes of SETS) {
      const caller = await newCaller(service, { sandbox })
      const id = await caller.createdId({ ...(sandbox && { sandbox_auto_decide_seconds: 0 }) })
      await stored(service, 'api_keys').updateOne({ _id: caller.keyId }, { $set: { scopes } })
      for (const [method, path, scope, status] of ROUTES) {
        if (/wait|receipt/.test(path) && !sandbox) continue
        const json = method === 'POST' ? { action: 'x' } : undefined
        const answer = await caller.send(path.replace(':id', id), { method, ...(json && { json }) })
        const allowed = scope === 'none' || scopes.includes(scope)
        expect([method, path, scopes, answer.status]).toEqual([method, path, scopes, allowed ? status : 403])
        if (!allowed) expect(answer.body).toMatchObject({ error: 'insufficient_scope', scope })
      }
    }
  })

  it('a live key turned sandbox in the store makes dry-runs only, and the other way round', async () => {
    const live = await newCaller(service)
    const test = await newCaller(service, { sandbox: true })
    await stored(service, 'api_keys').updateOne({ _id: live.keyId }, { $set: { sandbox: true } })
    await stored(service, 'api_keys').updateOne({ _id: test.keyId }, { $set: { sandbox: false } })
    expect((await live.create({ action: 'x' })).body).toMatchObject({ sandbox: true })
    expect((await test.create({ action: 'x' })).body).not.toHaveProperty('sandbox')
    const refused = await test.create({ action: 'x', sandbox_decision: 'approved' })
    expect(refused.body.error).toBe('sandbox_fields_require_sandbox_key')
  })
})

describe('T55: no route shows or touches a foreign request', () => {
  it.each([
    ['GET', '/api/v1/approvals/:id'],
    ['GET', '/api/v1/approvals/:id/wait?timeout=1'],
    ['GET', '/api/v1/approvals/:id/events'],
    ['POST', '/api/v1/approvals/:id/remind'],
    ['POST', '/api/v1/approvals/:id/cancel'],
    ['POST', '/api/v1/approvals/:id/consume'],
    ['POST', '/api/v1/approvals/:id/token'],
  ])('%s %s answers foreign, unknown and malformed ids byte for byte alike', async (method, path) => {
    const owner = await newCaller(service)
    const id = await owner.createdId()
    const stranger = await newCaller(service, { user: owner.user })
    const ids = [id, 'req_00000000000000000000000000', 'nonsense']
    const answers = await Promise.all(ids.map((one) => stranger.send(path.replace(':id', one), { method })))
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([404]))
    expect(new Set(answers.map((answer) => answer.text)).size).toBe(1)
    expect(await stored(service, 'requests').findOne({ _id: id })).toMatchObject({ version: 1 })
  })
})
