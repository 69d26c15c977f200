import { describe, expect, it } from 'vitest'
import { buildInfo } from '../src/config/package-path.ts'
import type { AuditEntry } from '../src/domain/audit.ts'
import { GENESIS, linkEntry } from '../src/signing/audit-chain.ts'
import { alter, decidedId, newCaller, send } from './support/caller.ts'
import { freePort, type ServiceOptions, useService } from './support/service.ts'

describe('METRICS_PORT', () => {
  async function measured(options: ServiceOptions) {
    const address = `http://localhost:${await freePort()}`
    const service = await useService({ ...options, env: { METRICS_PORT: new URL(address).port } })
    const figures = async (): Promise<Record<string, string>> => {
      const answer = await fetch(`${address}/metrics`)
      expect(answer.headers.get('Content-Type')).toContain('text/plain; version=0.0.4')
      const lines = (await answer.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
      return Object.fromEntries(lines.map((line) => [line.replace(/ \S+$/, ''), line.replace(/^.* /, '')]))
    }
    return { service, address, figures }
  }
  const asked = (method: string, route: string, status: number): string =>
    `countersign_http_request_duration_seconds_count{method="${method}",route="${route}",status="${status}"}`
  const late = (queue: string): string => `countersign_late_seconds{queue="${queue}"}`

  it('tells what was asked, what happened and that nothing is late, and names no one', async () => {
    const { service, address, figures } = await measured({ work: true })
    const { version, commit } = buildInfo()
    const caller = await newCaller(service, { sandbox: true })
    const id = await decidedId(service, caller)
    await caller.read('req_0000000000000000')
    await send(service, `/api/v1/approvals/${id}`)
    // One figure for each address would fill the memory of who collects them.
    for (const path of ['/a', '/b', '/c']) await send(service, `${path}/nowhere/${id}`)
    await send(service, `/API/v1/Approvals/${id}`)
    await send(service, `/api/v1/approvals/${id}`)
    for (const path of ['/requests', '/keys', `/a/${id}`, '/healthz']) await send(service, path)
    await expect.poll(figures).toMatchObject({
      [asked('POST', '/api/v1/approvals/request', 201)]: '1',
      [asked('GET', '/api/v1/approvals/:id', 404)]: '1',
      [asked('GET', 'none', 404)]: '3',
      [asked('GET', '/api/v1/approvals/:id', 401)]: '3',
      [asked('GET', 'pages', 200)]: '3',
      [asked('GET', '/healthz', 200)]: '1',
      'countersign_audit_entries_total{type="approval.created"}': '1',
      'countersign_audit_entries_total{type="delivery.exhausted"}': '0',
      'countersign_audit_entries_total{type="approval.approved"}': '1',
      [`countersign_build_info{version="${version}",commit="${commit}"}`]: '1',
      countersign_store_ping_seconds: expect.stringMatching(/^0\.\d+/),
      process_resident_memory_bytes: expect.stringMatching(/^\d{8,}$/),
      ...Object.fromEntries(['callbacks', 'pushes', 'cards', 'expiry'].map((queue) => [late(queue), '0'])),
    })
    const names = Object.keys(await figures())
    expect(names.filter((name) => /(?:req|usr|key|acc)_[0-9a-z]{10}|@|127\.0/.test(name))).toEqual([])
    expect((await fetch(`${address}/api/v1/approvals`)).status).toBe(404)
    expect((await send(service, '/metrics')).status).toBe(404)
  })

  it('counts of an insert that another process cut short what was sealed', async () => {
    const { service, figures } = await measured({})
    const { trail } = service.composition.deps
    const entry = (eid: string): AuditEntry => ({
      eid,
      type: 'delivery.exhausted',
      at: new Date(),
      actor: { kind: 'service' },
      subject: 'dlv_1',
    })
    const head = (await trail.head()) ?? GENESIS
    const first = linkEntry(head, entry('evt_1'), 'aa')
    const twice = [first, linkEntry(first, entry('evt_1'), 'bb')]
    expect(await trail.insert(twice)).toBe(1)
    expect(await figures()).toMatchObject({
      'countersign_audit_entries_total{type="delivery.exhausted"}': '1',
    })
  })

  it('tells how late what is due first is, and that the store does not answer', async () => {
    const { service, figures } = await measured({ database: 'test_late' })
    const caller = await newCaller(service)
    await alter(service, 'requests', await caller.createdId(), { expires_at: new Date(Date.now() - 90_000) })
    expect(Number((await figures())[late('expiry')])).toBeGreaterThanOrEqual(89)
    expect((await figures())[late('callbacks')]).toBe('0')
    await service.composition.connection.db?.dropDatabase()
    await service.composition.connection.close()
    expect(await figures()).toMatchObject({
      countersign_store_ping_seconds: 'Nan',
      [late('expiry')]: 'Nan',
      [asked('POST', '/api/v1/approvals/request', 201)]: '1',
    })
  })
})
