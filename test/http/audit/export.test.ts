import { once } from 'node:events'
import { get } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { AuditEntry } from '../../../src/domain/audit.ts'
import { createAppender } from '../../../src/flow/audit/append-to-trail.ts'
import { entryNumber } from '../../support/audit-entries.ts'
import { newCaller, send, signIn, stored, type TestCaller } from '../../support/caller.ts'
import { readCsv } from '../../support/read-csv.ts'
import { startService, type TestService } from '../../support/service.ts'

const PATH = '/api/v1/account/audit/export'

let service: TestService
let caller: TestCaller
let token: string
let serial = 5_000
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())
beforeEach(async () => {
  caller = await newCaller(service)
  token = await signIn(service, caller.user)
})

async function told(...entries: Partial<AuditEntry>[]): Promise<string[]> {
  const made = entries.map((entry) => {
    serial += 1
    return entryNumber(serial, { account_id: caller.user.account_id, ...entry })
  })
  await createAppender(service.composition.deps)(made)
  return made.map(({ eid }) => eid)
}

const take = (query: string) => send(service, `${PATH}?${query}`, { token })

const lines = (text: string): Record<string, unknown>[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

describe('the audit trail as NDJSON', () => {
  it('holds one entry a line, as the list shows it, each with its place in the chain', async () => {
    const ids = await told(
      { subject: 'req_1', detail: { note: 'two\nlines\u2028"quoted"' } },
      { subject: 'req_2', actor: { kind: 'user', id: 'usr_1', address: '192.0.2.1' } },
    )
    const answer = await take('format=ndjson')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8')
    expect(answer.headers.get('content-disposition')).toMatch(
      /^attachment; filename="audit-\d{4}-\d{2}-\d{2}\.ndjson"$/,
    )
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const listed = (await send(service, '/api/v1/account/audit', { token })).body.data
    expect(lines(answer.text)).toEqual(listed)
    expect(lines(answer.text).map(({ id }) => id)).toEqual([...ids].reverse())
    for (const line of lines(answer.text)) {
      const record = await stored(service, 'audit_log').findOne({ 'entry.eid': line.id })
      expect([record?._id, Object(record).hash.toString('hex')]).toEqual([line.seq, line.hash])
    }
  })

  it('says beside each entry who did it and what was asked, as far as the reader knows', async () => {
    const id = await caller.createdId({ action: '=Deploy 4.2' })
    await told(
      { subject: id, type: 'approval.approved', actor: { kind: 'user', id: caller.user.id } },
      { subject: 'req_of_others' },
      { subject: caller.user.id, type: 'user.changed' },
    )
    const [about, unknown, known] = lines((await take('format=ndjson')).text)
    expect(known).toMatchObject({ subject: id, actor_name: caller.user.name, action: '=Deploy 4.2' })
    expect(about).toMatchObject({ subject_name: caller.user.name })
    expect(Object.keys(unknown ?? {}).filter((name) => /_name$|^action$/.test(name))).toEqual([])
    const [head = [], changed, , row] = readCsv((await take('format=csv')).text)
    expect(head.slice(-3)).toEqual(['actor_name', 'action', 'subject_name'])
    expect(row?.slice(-3)).toEqual([caller.user.name, "'=Deploy 4.2", ''])
    expect(changed?.slice(-3)).toEqual(['', '', caller.user.name])
  })

  it('holds a trail of any length, in order, and what the filters leave', async () => {
    const ids = await told(
      ...Array.from({ length: 1_234 }, (_, index) => ({ subject: index % 2 === 0 ? 'req_even' : 'req_odd' })),
    )
    expect(lines((await take('format=ndjson')).text).map(({ id }) => id)).toEqual([...ids].reverse())
    const even = lines((await take('format=ndjson&subject=req_even')).text)
    expect(even).toHaveLength(617)
    expect(new Set(even.map(({ subject }) => subject))).toEqual(new Set(['req_even']))
  })

  it('is empty where there is nothing', async () => {
    const answer = await take('format=ndjson&q=nothing')
    expect([answer.status, answer.text]).toEqual([200, ''])
  })
})

describe('the audit trail as CSV', () => {
  it('follows RFC 4180, whatever the entries hold', async () => {
    const detail = { note: 'a "quoted", text\r\nwith lines', count: 3 }
    const [id] = await told({
      type: 'key.created',
      subject: 'key_1',
      actor: { kind: 'user', id: 'usr_1', address: '2001:db8::1' },
      detail,
    })
    const answer = await take('format=csv')
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present')
    expect(answer.headers.get('content-disposition')).toMatch(/filename="audit-[0-9-]+\.csv"$/)
    const [head, row, ...rest] = readCsv(answer.text)
    expect(rest).toEqual([])
    expect(head).toEqual([
      'seq',
      'id',
      'type',
      'at',
      'actor_kind',
      'actor_id',
      'actor_address',
      'subject',
      'detail',
      'hash',
      'actor_name',
      'action',
      'subject_name',
    ])
    expect(row?.slice(1, 8)).toEqual([
      id,
      'key.created',
      expect.stringMatching(/Z$/),
      'user',
      'usr_1',
      '2001:db8::1',
      'key_1',
    ])
    expect(JSON.parse(row?.[8] ?? '')).toEqual(detail)
  })

  it.each([
    ['=', '=HYPERLINK("http://evil.example";"click")'],
    ['+', '+1+cmd|/C calc!A0'],
    ['-', '-2+3'],
    ['@', '@SUM(A1)'],
    ['tab', '\t=1+1'],
    ['carriage return', '\r=1+1'],
    ['line feed', '\n=1+1'],
    ['wide =', '＝1+1'],
  ])('no cell begins a formula: %s', async (_name, text) => {
    await told({ subject: text, actor: { kind: 'chat', id: text, address: text } })
    const [, row] = readCsv((await take('format=csv')).text)
    for (const column of [5, 6, 7]) expect(row?.[column]).toBe(`'${text}`)
  })

  it('has its line of names where there is nothing', async () => {
    expect(readCsv((await take('format=csv&q=nothing')).text)).toHaveLength(1)
  })
})

describe('a file on its way', () => {
  it('is read as it is taken: a reader who is gone stops it, and no more is read than is taken', async () => {
    const long = 'x'.repeat(4_000)
    await told(...Array.from({ length: 6_000 }, () => ({ detail: { long } })))
    const { trail } = service.composition.deps
    const { list } = trail
    let read = 0
    trail.list = (query) => {
      read += 1
      return list(query)
    }
    try {
      const request = get(`${service.url}${PATH}?format=ndjson`, {
        headers: { Authorization: `Bearer ${token}` },
      })
      const [response] = await once(request, 'response')
      response.pause()
      let before = ''
      const rests = (): boolean => {
        const last = before
        before = `${read} read, ${response.readableLength} waiting`
        return before === last && response.readableLength > 0
      }
      await expect.poll(rests, { interval: 300 }).toBe(true)
      expect(read).toBeLessThan(12)
      const taken = read
      response.destroy()
      await expect.poll(async () => (await take('format=csv&q=nothing&type=key.revoked')).status).toBe(200)
      expect(read - taken).toBeLessThan(4)
    } finally {
      trail.list = list
    }
  })

  it('is cut off, not ended, when the session ends or the store fails meanwhile', async () => {
    await told(...Array.from({ length: 1_200 }, () => ({})))
    const { sessions, trail } = service.composition.deps
    const { findLive } = sessions
    const { list } = trail
    const restore = (): void => {
      sessions.findLive = findLive
      trail.list = list
    }
    try {
      let asked = 0
      sessions.findLive = (...about) => {
        asked += 1
        return asked > 2 ? Promise.resolve(undefined) : findLive(...about)
      }
      await expect(take('format=ndjson')).rejects.toThrow()
      restore()
      trail.list = (query) =>
        query.before === undefined ? list(query) : Promise.reject(new Error('secret detail'))
      await expect(take('format=csv')).rejects.toThrow()
    } finally {
      restore()
    }
    const logged = service.logged.filter(({ message }) => message === 'an export failed')
    expect(logged).toHaveLength(1)
    expect((await take('format=csv')).status).toBe(200)
  })

  it('answers HEAD without reading anything', async () => {
    await told({})
    const answer = await send(service, `${PATH}?format=csv`, { method: 'HEAD', token })
    expect([answer.status, answer.text]).toEqual([200, ''])
    expect(answer.headers.get('content-disposition')).toMatch(/^attachment/)
  })
})

describe('refusals', () => {
  it('400: no format, another one, or a bad filter', async () => {
    expect((await take('')).body).toMatchObject({ error: 'format required', field: 'format' })
    expect((await take('format=xlsx')).body).toMatchObject({
      error: 'invalid_field',
      field: 'format',
      detail: 'must be ndjson or csv',
    })
    const answer = await take('format=csv&from=x')
    expect([answer.status, answer.body.field]).toEqual([400, 'from'])
  })

  it('401: is for signed-in persons only, never for an API key', async () => {
    for (const by of [undefined, caller.token]) {
      const answer = await send(service, `${PATH}?format=csv`, by === undefined ? {} : { token: by })
      expect([answer.status, answer.body.error]).toEqual([401, 'not_signed_in'])
    }
  })

  it('429: ten a minute, apart from everything else', async () => {
    const answers = []
    for (let index = 0; index < 11; index += 1) answers.push(await take('format=csv'))
    expect(answers.map(({ status }) => status)).toEqual([...Array.from({ length: 10 }, () => 200), 429])
    expect(answers[0]?.headers.get('x-ratelimit-limit')).toBe('10')
    expect(answers[10]?.body).toMatchObject({
      error: 'rate limit exceeded',
      retry_after: expect.any(Number),
    })
    expect((await send(service, '/api/v1/account/audit', { token })).status).toBe(200)
  })

  it('429: two at a time, until one of them is gone', async () => {
    await told(...Array.from({ length: 3_000 }, () => ({ detail: { long: 'x'.repeat(4_000) } })))
    const open = async () => {
      const request = get(`${service.url}${PATH}?format=ndjson`, {
        headers: { Authorization: `Bearer ${token}` },
        agent: false,
      })
      const [response] = await once(request, 'response')
      response.pause()
      return response
    }
    const held = [await open(), await open()]
    const refused = await take('format=csv')
    expect([refused.status, refused.body.error]).toEqual([429, 'too_many_waits'])
    for (const response of held) response.destroy()
    await expect.poll(async () => (await take('format=csv&q=x&type=key.revoked')).status).toBe(200)
  })
})
