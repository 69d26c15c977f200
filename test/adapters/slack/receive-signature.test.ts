import { readFileSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { packagePath } from '../../../src/config/package-path.ts'
import { shownText } from '../../support/block-parts.ts'
import { waitUntil } from '../../support/chat-platform.ts'
import { commandPayload, createSlackDriver, type SlackReply, signSlack } from '../../support/slack-driver.ts'
import { type SlackEmulator, startSlack } from '../../support/slack-emulator.ts'
import { SIGNING_SECRET, useSlackService } from '../../support/slack-service.ts'
import { untilInTime } from '../../support/stopwatch.ts'

const sample = JSON.parse(readFileSync(packagePath('test/vectors/slack/signature_example.json'), 'utf8'))
const seconds = () => Math.floor(Date.now() / 1000)
const REFUSED = {
  error: 'chat_signature_refused',
  message:
    'The chat platform did not sign this, or its time is more than five minutes off; check the signing secret and the clock.',
}

let slack: SlackEmulator
beforeAll(async () => {
  slack = await startSlack()
})
afterAll(() => slack.close())
afterEach(() => {
  vi.useRealTimers()
  slack.behave(() => undefined)
})

/** A form of a command whose bytes a test wants to send more than once. */
function bodyOf(text: string): string {
  const payload = commandPayload(slack, '/countersign', text, {})
  return new URLSearchParams(
    Object.entries(payload).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString()
}

/** Sends new bytes each time, until no answer to them was late. @returns those answers, and how often it sent some */
async function saidInTime(
  send: (body: string, knobs: { timestamp: number }) => Promise<SlackReply[]>,
): Promise<{ answers: SlackReply[]; times: number }> {
  let answers: SlackReply[] = []
  let times = 0
  await untilInTime(async () => {
    times += 1
    answers = await send(bodyOf('help'), { timestamp: seconds() })
    return { text: answers.map(({ text }) => text).join('\n') }
  })
  return { answers, times }
}

describe('T36: the signature of a request', () => {
  it('accepts the published sample at the time it was made, and refuses it today', async () => {
    slack.behave(({ method }) =>
      method === 'auth.test' ? { answer: { ok: true, team_id: 'T1DC2JH3J', user_id: 'U0BOT' } } : undefined,
    )
    expect(sample.signing_secret).toBe(SIGNING_SECRET)
    const { driver, service } = await useSlackService(slack, { localTime: () => Date.now() })
    const seen = service.composition.connection.db?.collection('chat_seen')
    const { body, signature, timestamp } = sample
    const today = await driver.post(body, { timestamp, signature })
    vi.useFakeTimers({ toFake: ['Date'], now: Number(timestamp) * 1000 })
    const then = await untilInTime(async () => {
      const answer = await driver.post(body, { timestamp, signature })
      // These bytes are the only ones: they count as new where they have to be sent again. A late answer goes out before that.
      await waitUntil(async () => expect(await seen?.countDocuments()).toBe(1))
      await seen?.deleteMany({})
      return answer
    })
    expect(today).toMatchObject({ status: 401, body: REFUSED })
    expect(then.status).toBe(200)
    expect(then.body.response_type).toBe('ephemeral')
    // It is a command of somebody else's app.
    expect(shownText(then.body.blocks)).toContain('Countersign does not know this command')
  })

  it('is the one that Slack publishes', () => {
    expect(signSlack(sample.signing_secret, sample.timestamp, sample.body)).toBe(sample.signature)
  })

  it('refuses another secret, an altered body and a re-encoded one, without a word', async () => {
    const { driver, logged } = await useSlackService(slack)
    const forged = await driver.command('/countersign', 'help', { secret: 'another' })
    const altered = await driver.command('/countersign', 'help', {
      tamper: (body) => body.replace('text=help', 'text=pending'),
    })
    const reencoded = await driver.command('/countersign', 'a b', {
      tamper: (body) => body.replace('text=a+b', 'text=a%20b'),
    })
    const withJson = await driver.event(
      { type: 'app_home_opened' },
      { tamper: (body) => JSON.stringify(JSON.parse(body), null, 1) },
    )
    for (const answer of [forged, altered, reencoded, withJson]) {
      expect([answer.status, answer.text]).toEqual([401, ''])
    }
    const [told, ...more] = logged('a request that Slack did not sign was refused')
    expect(String(told?.error)).toContain('Signature mismatch')
    // Strangers cannot fill the log: the others are counted in the next line, ten seconds later.
    expect(more).toEqual([])
  })

  it.each([
    ['no signature', { signature: null }],
    ['an empty signature', { signature: '' }],
    ['no timestamp', { headers: { 'x-slack-request-timestamp': null } }],
    ['a timestamp that is no number', { timestamp: 'soon' }],
    ['a timestamp with a fraction', { timestamp: `${seconds()}.5` }],
    ['an empty timestamp', { timestamp: '' }],
  ])('refuses %s', async (_what, knobs) => {
    const { driver } = await useSlackService(slack)
    expect(await driver.command('/countersign', 'help', knobs)).toMatchObject({ status: 401, body: REFUSED })
  })

  it('refuses other spellings of a true signature, so that a repeat cannot pass as new', async () => {
    const { driver } = await useSlackService(slack)
    const body = bodyOf('help')
    const timestamp = seconds()
    const true_ = signSlack(SIGNING_SECRET, timestamp, body)
    const hash = true_.slice(3)
    for (const signature of [`${true_}=x`, `${true_}=`, `V0=${hash}`, `v0=${hash.toUpperCase()}`, hash]) {
      const answer = await driver.post(body, { timestamp, signature })
      expect(answer).toMatchObject({ status: 401, body: REFUSED })
    }
    expect((await driver.post(body, { timestamp, signature: true_ })).status).toBe(200)
  })

  it('refuses a signature that is split at another place of what was signed', async () => {
    const { driver } = await useSlackService(slack)
    const later = seconds()
    const rest = 'payload=%7B%7D'
    const told = `{"text":"x:${later}:${rest}`
    const hash = signSlack(SIGNING_SECRET, 1_600_000_000, told).slice(3)
    const signature = `v0:1600000000:{"text":"x=${hash}`
    expect(await driver.post(rest, { timestamp: later, signature })).toMatchObject({
      status: 401,
      body: REFUSED,
    })
  })

  it.each([
    [-300, 200],
    [-299, 200],
    [299, 200],
    [300, 200],
    [-301, 401],
    [301, 401],
    [-86_400, 401],
    [86_400, 401],
  ])('answers a timestamp %i seconds off with %i', async (off, status) => {
    const { driver } = await useSlackService(slack, { localTime: () => Date.now() })
    vi.useFakeTimers({ toFake: ['Date'] })
    const answer = await driver.command('/countersign', 'help', { timestamp: seconds() + off })
    expect(answer.status).toBe(status)
    if (status === 401) expect(answer.body).toEqual(REFUSED)
  })
})

describe('T36: the same request again', () => {
  it('is acknowledged with nothing and runs nothing, also at another process', async () => {
    const first = await useSlackService(slack)
    const database = first.service.composition.connection.db?.databaseName ?? ''
    const second = await useSlackService(slack, { database })
    const { answers, times } = await saidInTime(async (body, knobs) => [
      await first.driver.post(body, knobs),
      await first.driver.post(body, knobs),
      await second.driver.post(body, knobs),
    ])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(shownText(answers[0]?.body.blocks)).toContain('Countersign in Slack')
    expect(answers.slice(1).map(({ text }) => text)).toEqual(['', ''])
    for (const { logged } of [first, second])
      await waitUntil(() =>
        expect(logged('Slack sent a message twice; the second is ignored')).toHaveLength(times),
      )
  })

  it('runs once when ten arrive at the same moment', async () => {
    const { driver, logged } = await useSlackService(slack)
    const { answers, times } = await saidInTime((body, knobs) =>
      Promise.all(Array.from({ length: 10 }, () => driver.post(body, knobs))),
    )
    expect(answers.filter(({ text }) => text !== '')).toHaveLength(1)
    await waitUntil(() =>
      expect(logged('Slack sent a message twice; the second is ignored')).toHaveLength(9 * times),
    )
  })

  it('is not remembered when its signature was wrong: a stranger cannot use up what Slack is about to say', async () => {
    const { driver, service } = await useSlackService(slack)
    const body = bodyOf('help')
    const timestamp = seconds()
    const signature = signSlack(SIGNING_SECRET, timestamp, body)
    const forged = await driver.post(body, { timestamp, signature, tamper: (text) => `${text}&x=1` })
    const seen = service.composition.connection.db?.collection('chat_seen')
    expect([forged.status, await seen?.countDocuments()]).toEqual([401, 0])
    expect((await driver.post(body, { timestamp, signature })).text).not.toBe('')
    // A late answer goes out before that.
    await waitUntil(async () => expect(await seen?.countDocuments()).toBe(1))
  })
})

describe('the events address', () => {
  it('takes bodies up to 256 KiB and refuses longer ones', async () => {
    const { driver } = await useSlackService(slack)
    const long = await driver.command('/countersign', 'x'.repeat(250_000))
    const tooLong = await driver.command('/countersign', 'x'.repeat(263_000))
    expect([long.status, tooLong.status, tooLong.text]).toEqual([200, 413, ''])
  })

  it('answers whatever is no JSON and no form without a stack', async () => {
    const { driver } = await useSlackService(slack)
    const broken = await driver.post('{"type":', { contentType: 'application/json' })
    const payload = await driver.post('payload=%7B', {})
    expect([broken, payload].map(({ status, text }) => [status, text])).toEqual([
      [400, ''],
      [400, ''],
    ])
  })

  it('leaves other methods to the rest of the service, and JSON bodies to our own API', async () => {
    const { service } = await useSlackService(slack)
    const got = await fetch(`${service.url}/slack/events`)
    const posted = await fetch(`${service.url}/api/v1/enrollment/passkey/options`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: service.url },
      body: JSON.stringify({ token: 'nobody knows this' }),
    })
    expect([got.status, await got.json()]).toMatchObject([404, { error: 'not_found' }])
    expect([posted.status, await posted.json()]).toMatchObject([410, { error: 'enrollment_invalid' }])
  })

  it('proves to Slack that it is ours, and to nobody else', async () => {
    const { driver, service } = await useSlackService(slack)
    const challenge = JSON.stringify({ type: 'url_verification', challenge: '3eZbrw1aBm2r' })
    const json = { contentType: 'application/json' }
    const answer = await driver.post(challenge, json)
    expect([answer.status, answer.body]).toEqual([200, { challenge: '3eZbrw1aBm2r' }])
    const stranger = createSlackDriver({ url: service.url, signingSecret: 'guess', teamId: slack.teamId })
    const refused = await stranger.post(challenge, json)
    expect([refused.status, refused.text]).toEqual([401, ''])
  })

  it('takes forms and JSON, with the retry headers of either', async () => {
    const { driver, logged } = await useSlackService(slack)
    const retry = { num: 1, reason: 'http_timeout' }
    const form = await driver.command('/countersign', 'help', { retry })
    const json = await driver.event({ type: 'team_rename' }, { retry })
    expect([form.status, json.status, json.text]).toEqual([200, 200, ''])
    expect(logged('an event from Slack was ignored: it has no listener')).toEqual([{ event: 'team_rename' }])
  })
})
