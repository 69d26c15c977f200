import { createHmac } from 'node:crypto'
import { expect, it, onTestFinished } from 'vitest'
import { type Behaviour, type Receiver, startReceiver } from './receiver.ts'

const SECRET = '00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff'

async function useReceiver(): Promise<Receiver> {
  const receiver = await startReceiver()
  onTestFinished(() => receiver.close())
  return receiver
}

function headersFor(body: string, { at = Date.now(), id = 'evt_1', secret = SECRET } = {}) {
  const time = String(Math.floor(at / 1000))
  const mac = (text: string) => createHmac('sha256', secret).update(text)
  return {
    'x-service-timestamp': time,
    'x-service-signature': `sha256=${mac(`${time}.${body}`).digest('hex')}`,
    'webhook-id': id,
    'webhook-timestamp': time,
    'webhook-signature': `v1,AAAA v1,${mac(`${id}.${time}.${body}`).digest('base64')}`,
  }
}

function post(receiver: Receiver, path: string, body: string, headers = headersFor(body)) {
  return fetch(receiver.url(path), { method: 'POST', body, headers }).then(
    (response) => response.status,
    () => 'no answer',
  )
}

it('records bytes, headers and the order of attempts of each id at each path', async () => {
  const receiver = await useReceiver()
  const body = '{"a":"ü"}'
  for (const path of ['/one', '/one', '/two']) expect(await post(receiver, path, body)).toBe(200)
  expect(receiver.received).toMatchObject([
    { path: '/one', eventId: 'evt_1', attempt: 1, taken: true },
    { path: '/one', eventId: 'evt_1', attempt: 2, taken: true },
    { path: '/two', eventId: 'evt_1', attempt: 1, taken: true },
  ])
  expect(receiver.received.map((entry) => entry.body.toString())).toEqual([body, body, body])
})

it('believes both signatures of the right secret, and neither when the body, the secret or the time is another', async () => {
  const receiver = await useReceiver()
  receiver.trust('/signed', 'ff'.repeat(32), SECRET)
  const right = headersFor('{}')
  const cases = {
    right: ['{}', right],
    body: ['{ }', right],
    secret: ['{}', headersFor('{}', { secret: 'aa'.repeat(32) })],
    old: ['{}', headersFor('{}', { at: Date.now() - 302_000 })],
    id: ['{}', { ...right, 'webhook-id': 'evt_2' }],
  } as const
  for (const [body, headers] of Object.values(cases)) await post(receiver, '/signed', body, headers)
  await post(receiver, '/unknown', '{}', right)
  const both = { service: true, standard: true }
  const none = { service: false, standard: false }
  expect(receiver.received.map((entry) => entry.signed)).toEqual([
    both,
    none,
    none,
    none,
    { service: true, standard: false },
    none,
  ])
})

it('answers, drops, takes without a word and stalls as it is told, and knows which deliveries it took', async () => {
  const receiver = await useReceiver()
  const told: Record<string, Behaviour> = {
    '/500': { kind: 'answer', status: 500 },
    '/410': { kind: 'answer', status: 410, headers: { 'retry-after': '7' } },
    '/drop': { kind: 'drop' },
    '/take': { kind: 'take-and-drop' },
  }
  receiver.behave(({ path }) => told[path] ?? { kind: 'stall' })
  for (const path of ['/500', '/410', '/drop', '/take']) {
    const expected = told[path]
    expect(await post(receiver, path, '{}')).toBe(expected?.kind === 'answer' ? expected.status : 'no answer')
  }
  const patience = new AbortController()
  const hung = fetch(receiver.url('/stall'), { method: 'POST', signal: patience.signal })
  await receiver.until('it arrived', () => receiver.received.length === 5)
  expect(await post(receiver, '/500', '{}')).toBe(500)
  patience.abort()
  await expect(hung).rejects.toThrow('aborted')
  expect(receiver.received.map(({ path, taken, answered }) => [path, taken, answered])).toEqual([
    ['/500', false, true],
    ['/410', false, true],
    ['/drop', false, false],
    ['/take', true, false],
    ['/stall', false, false],
    ['/500', false, true],
  ])
})

it('counts the most deliveries under way at once', async () => {
  const receiver = await useReceiver()
  let release: (behaviour: Behaviour) => void = () => undefined
  const together = new Promise<Behaviour>((resolve) => {
    release = resolve
  })
  receiver.behave(() => together)
  const posts = [1, 2, 3].map((n) => post(receiver, `/${n}`, '{}'))
  await receiver.until('three under way', () => receiver.received.length === 3)
  release({ kind: 'answer', status: 204 })
  expect(await Promise.all(posts)).toEqual([204, 204, 204])
  await post(receiver, '/alone', '{}')
  expect([...receiver.peak.values()]).toEqual([3])
})

it('dies, refuses connections while it is dead, and lives again at the same address', async () => {
  const receiver = await useReceiver()
  receiver.behave(() => ({ kind: 'stall' }))
  const url = receiver.url('/')
  const cut = post(receiver, '/', '{}')
  await receiver.until('it arrived', () => receiver.received.length === 1)
  await receiver.die()
  expect(await cut).toBe('no answer')
  expect(await post(receiver, '/', '{}')).toBe('no answer')
  await receiver.revive()
  receiver.behave(() => ({ kind: 'answer', status: 200 }))
  expect(receiver.url('/')).toBe(url)
  expect(await post(receiver, '/', '{}')).toBe(200)
  expect(receiver.received).toHaveLength(2)
})

it('says what it waited for in vain', async () => {
  const receiver = await useReceiver()
  await expect(receiver.until('a delivery', () => false, 20)).rejects.toThrow('not within 20 ms: a delivery')
})
