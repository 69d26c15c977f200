import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { buildInfo } from '../src/config/package-path.ts'
import type { AuditEntry } from '../src/domain/audit.ts'
import { GENESIS, linkEntry } from '../src/signing/audit-chain.ts'
import { alter, decidedId, newCaller, send } from './support/caller.ts'
import { createChatPlatform } from './support/chat-platform.ts'
import { expectStatus } from './support/enrolled.ts'
import { ask, callWithKey, decideByPasskey, setUpOwner } from './support/live.ts'
import { sampleDelivery } from './support/sample-delivery.ts'
import { freePort, type ServiceOptions, useService } from './support/service.ts'

describe('METRICS_PORT', () => {
  async function measured(options: ServiceOptions) {
    const address = `http://localhost:${await freePort()}`
    const port = new URL(address).port
    const service = await useService({ ...options, env: { ...options.env, METRICS_PORT: port } })
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
      'countersign_decision_seconds_count{method="sandbox",decision="approved"}': '1',
      countersign_requests_pending: '0',
      countersign_oldest_pending_seconds: '0',
      countersign_audit_lag_seconds: '0',
    })
    const names = Object.keys(await figures())
    expect(names.filter((name) => /(?:req|usr|key|acc)_[0-9a-z]{10}|@|127\.0/.test(name))).toEqual([])
    expect((await fetch(`${address}/api/v1/approvals`)).status).toBe(404)
    expect((await fetch(`${address}/metrics?job=a`)).status).toBe(200)
    expect((await send(service, '/metrics')).status).toBe(404)
  })

  it('tells of people, approvals and queues what an operator has to know', async () => {
    const { service, figures } = await measured({ chats: [createChatPlatform('slack')] })
    const setting = await setUpOwner(service)
    const { account_id } = (await service.composition.deps.users.find(setting.owner.userId)) ?? {}
    const id = await ask(setting)
    const use = (action: string) => callWithKey(service, setting.key, `/${id}/consume`, { action })
    expect((await use('Deploy release 4.2')).status).toBe(409)
    expectStatus(await setting.owner.browser.get(`/api/v1/approvals/${id}/review`), 200)
    expectStatus(await decideByPasskey(setting, id, 'approved'), 200)
    for (const [action, status] of [
      ['Deploy all', 409],
      ['Deploy release 4.2', 200],
      ['Deploy release 4.2', 409],
    ] as const)
      expect((await use(action)).status).toBe(status)
    const waiting = await ask(setting)
    const minuteAgo = new Date(Date.now() - 60_000)
    await alter(service, 'requests', waiting, { created_at: minuteAgo, 'audit.0.at': minuteAgo })
    const target = { kind: 'webhook', webhook_id: 'whk_1' } as const
    const sent = { account_id: String(account_id), target, url: 'https://example.com/', next_at: minuteAgo }
    await service.composition.deps.deliveries.insertNew([
      sampleDelivery({ ...sent, id: 'dlv_1', event_id: 'evt_1', state: 'dead' }),
      sampleDelivery({ ...sent, id: 'dlv_2', event_id: 'evt_2' }),
    ])
    const trouble = { platform: 'slack', tenant: 'T1', reason: 'not_installed', since: minuteAgo }
    await alter(service, 'accounts', String(account_id), { chat_troubles: [trouble] })
    const consumed = (result: string) => `countersign_consumes_total{result="${result}"}`
    const told = await figures()
    expect(told).toMatchObject({
      'countersign_decision_seconds_count{method="passkey",decision="approved"}': '1',
      'countersign_first_look_seconds_count{method="passkey"}': '1',
      [consumed('consumed')]: '1',
      [consumed('mismatch')]: '1',
      [consumed('already_consumed')]: '1',
      [consumed('not_approved')]: '1',
      countersign_requests_pending: '1',
      countersign_oldest_pending_seconds: expect.stringMatching(/^6\d(\.|$)/),
      countersign_audit_lag_seconds: expect.stringMatching(/^6\d(\.|$)/),
      countersign_dead_letters: '1',
      'countersign_queue_items{queue="callbacks"}': '1',
      [late('callbacks')]: expect.stringMatching(/^6\d(\.|$)/),
      'countersign_chat_troubles{platform="slack"}': '1',
    })
    expect(Number(told.countersign_clock_skew_seconds)).toBeCloseTo(0, 0)
  })

  it('looks once for scrapes that come at the same moment, and again for a later one', async () => {
    const { service, address, figures } = await measured({})
    const { deps } = service.composition
    const { nextExpiry } = deps.requests
    let looks = 0
    deps.requests = {
      ...deps.requests,
      nextExpiry() {
        looks += 1
        return nextExpiry()
      },
    }
    const { hostname, port } = new URL(address)
    const scrape = (last = '') => `GET /metrics HTTP/1.1\r\nHost: a\r\n${last}\r\n`
    const socket = connect(Number(port), hostname)
    // In one packet, so that all are there before any is answered.
    socket.write(`${scrape().repeat(4)}${scrape('Connection: close\r\n')}`)
    const answers = await text(socket)
    expect(answers.match(/^HTTP\/1\.1 200 OK/gm)).toHaveLength(5)
    expect(answers.match(/^countersign_requests_pending 0$/gm)).toHaveLength(5)
    expect(looks).toBe(1)
    await figures()
    expect(looks).toBe(2)
  })

  it('tells the size of an embedded store, and of a clock that was set', async () => {
    let ahead = 0
    const localTime = () => Date.now() + ahead
    const { service, figures } = await measured({ localTime, env: { MONGODB_URI: '' } })
    expect(await figures()).toMatchObject({
      countersign_store_bytes: expect.stringMatching(/^\d{5,}$/),
      countersign_disk_free_bytes: expect.stringMatching(/^\d{7,}$/),
      countersign_clock_steps_total: '0',
      countersign_pauses_total: '0',
    })
    ahead = -3_600_000
    const steps = () =>
      service.logged.filter(({ message }) => message.startsWith('the clock of this machine was set'))
    await expect
      .poll(() => steps().map(({ fields }) => Number(fields.seconds)))
      .toEqual([expect.closeTo(-3_600, 0)])
    expect(await figures()).toMatchObject({
      countersign_clock_steps_total: '1',
      countersign_pauses_total: '0',
    })
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
