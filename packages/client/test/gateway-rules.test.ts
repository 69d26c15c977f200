import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { readGate } from '../cli/gateway/read-gate.ts'
import { decide, fillTitle } from '../cli/gateway/rules.ts'
import { watchDecisions } from '../cli/gateway/watch-decisions.ts'
import { readPeer } from '../src/client.ts'
import type { JsonObject } from '../src/json.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rules-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function read(text: string) {
  const path = join(folder, 'gate.yaml')
  await writeFile(path, text)
  return readGate(path)
}

const WHEN = (when: string) => `server: x\nrules: [{ tool: t, effect: allow, when: ${when} }]`

describe('the first rule that a call meets counts', () => {
  it.each<[string, JsonObject, string]>([
    ['{ amount: { at_most: 100 } }', { amount: 100 }, 'allow'],
    ['{ amount: { at_most: 100 } }', { amount: '100.00' }, 'allow'],
    ['{ amount: { at_most: 100 } }', { amount: 100.01 }, 'approve'],
    ['{ amount: { at_most: 100 } }', { amount: '1e1' }, 'approve'],
    ['{ amount: { at_most: 100 } }', { amount: [1] }, 'approve'],
    ['{ amount: { above: 0, below: 100 } }', { amount: 0 }, 'approve'],
    ['{ amount: { above: 0, below: 100 } }', { amount: 1 }, 'allow'],
    ['{ to: { in: [ACME, Bolt] } }', { to: 'Bolt' }, 'allow'],
    ['{ to: { in: [ACME, Bolt] } }', { to: 'bolt' }, 'approve'],
    ['{ to: { equals: 5 } }', { to: '5' }, 'approve'],
    ['{ to: { equals: { a: [1, 2] } } }', { to: { a: [1, 2] } }, 'allow'],
    ['{ to: { matches: "[A-Z]+" } }', { to: 'ACME' }, 'allow'],
    ['{ to: { matches: "[A-Z]+" } }', { to: 'ACME\nx' }, 'approve'],
    ['{ to/iban: { matches: "DE.*" } }', { to: { iban: 'DE1' } }, 'allow'],
    ['{ to/iban: { matches: "DE.*" } }', { to: 'DE1' }, 'approve'],
    ['{ a~1b: { equals: 1 } }', { 'a/b': 1 }, 'allow'],
    ['{ path: { inside: /srv/app } }', { path: '/srv/app' }, 'allow'],
    ['{ path: { inside: /srv/app } }', { path: '/srv/app/x/../y' }, 'allow'],
    ['{ path: { inside: /srv/app } }', { path: '/srv/app/../../etc/passwd' }, 'approve'],
    ['{ path: { inside: /srv/app } }', { path: '/srv/apple' }, 'approve'],
    ['{ path: { inside: /srv/app } }', { path: 'x' }, 'approve'],
    ['{ path: { inside: /srv/app } }', { path: '~/x' }, 'approve'],
    ['{ path: { inside: [/srv/app, /tmp/] } }', { path: '/tmp/x' }, 'allow'],
    ['{ paths/*: { inside: /srv } }', { paths: ['/srv/a', '/srv/b'] }, 'allow'],
    ['{ paths/*: { inside: /srv } }', { paths: ['/srv/a', '/etc/b'] }, 'approve'],
    ['{ paths/*: { inside: /srv } }', { paths: [] }, 'approve'],
    ['{ force: { present: false } }', {}, 'allow'],
    ['{ force: { present: false } }', { force: null }, 'approve'],
    ['{ force: { present: false } }', { Force: true }, 'approve'],
    ['{ to/iban: { present: false } }', {}, 'allow'],
    ['{ to/iban: { present: false } }', { to: {} }, 'allow'],
    ['{ to/iban: { present: false } }', { to: 'DE1' }, 'approve'],
    ['{ to/iban: { present: false } }', { to: [{ iban: 'DE1' }] }, 'approve'],
    ['{ to/iban: { present: false } }', { to: null }, 'approve'],
    ['{ to/*/iban: { present: false } }', { to: [{ iban: 'DE1' }] }, 'approve'],
    ['{ amount: { at_most: 100 } }', { Amount: 5 }, 'approve'],
    ['{ constructor: { present: false } }', {}, 'allow'],
    ['{ a: { equals: 1 }, b: { equals: 2 } }', { a: 1 }, 'approve'],
  ])('allow when %s, of %j: %s', async (when, given, effect) => {
    const { rules, unlisted } = await read(WHEN(when))
    expect(decide(rules, 't', given, unlisted).effect).toBe(effect)
  })

  it.each<[string, JsonObject, string]>([
    // Nobody knows whether the rule is met: the stricter of both counts.
    ['deny above 100, else allow', { amount: '9,000' }, 'deny'],
    ['deny above 100, else allow', {}, 'deny'],
    ['deny above 100, else allow', { amount: 5 }, 'allow'],
    ['approve above 100, else deny', {}, 'deny'],
    ['approve above 100, else deny', { amount: 500 }, 'approve'],
  ])('%s, of %j: %s', async (words, given, effect) => {
    const [first, rest] = words.split(' above 100, else ')
    const { rules } = await read(
      `server: x\nrules:\n - { tool: t, effect: ${first}, when: { amount: { above: 100 } } }\n - { tool: "*", effect: ${rest} }`,
    )
    expect(decide(rules, 't', given, 'approve').effect).toBe(effect)
  })

  it.each(['DROP TABLE x', 'a\nDROP', 'DROP\nx', 'a\u2028DROP'])(
    'deny when a text matches: %j',
    async (sql) => {
      const { rules } = await read(WHEN('{ sql: { matches: ".*DROP.*" } }').replace('allow', 'deny'))
      expect(decide(rules, 't', { sql }, 'allow').effect).toBe('deny')
    },
  )

  it.each([
    ['read_*', 'read_file', true],
    ['read_*', 'unread_file', false],
    ['*_file', 'read_file', true],
    ['r*d*e', 'read_file', true],
    ['read.file', 'read_file', false],
    ['Read_file', 'read_file', false],
    ['*', 'a\nb', true],
  ])('%s is about %j: %s', async (pattern, name, met) => {
    const { rules } = await read(`server: x\nrules: [{ tool: "${pattern}", effect: deny }]`)
    expect(decide(rules, name, {}, 'approve').effect).toBe(met ? 'deny' : 'approve')
  })

  it('a title shows what it names, and no argument pushes another out of it', () => {
    const given = { to: 'x'.repeat(500), amount: 5, deep: { list: [1, 'a'] } }
    expect(fillTitle('Pay {amount} to {to}: {deep/list}, {none}', given)).toBe(
      `Pay 5 to ${'x'.repeat(120)}…: [1,"a"], (no none)`,
    )
  })
})

describe('a configuration', () => {
  const rule = (text: string) => `server: x\nrules: [{ tool: t, effect: approve, ${text} }]`
  it.each<[string, string, RegExp]>([
    ['nothing', '', /the file must be a mapping/],
    ['no name', 'rules: []', /rules must be a list, and not empty/],
    ['no server', 'rules: [{ tool: t, effect: deny }]', /server is missing/],
    ['an unknown word', 'server: x\nhold: 5', /hold is not known; known are: server, /],
    ['a word twice', 'server: x\nserver: y', /Map keys must be unique at line 2/],
    ['no YAML', 'server: [', /at line 1/],
    ['an unknown word in a rule', rule('titel: Pay'), /rules\[0\]\.titel is not known/],
    [
      'an unknown effect',
      'server: x\nrules: [{ tool: t, effect: permit }]',
      /rules\[0\]\.effect must be one of/,
    ],
    ['no tool', 'server: x\nrules: [{ effect: deny }]', /rules\[0\]\.tool is missing/],
    [
      'a number for a name',
      'server: x\nrules: [{ tool: 5, effect: deny }]',
      /rules\[0\]\.tool must be a text/,
    ],
    ['a default that allows', 'server: x\nunlisted: allow', /unlisted must be one of: approve, deny/],
    ['an empty condition', rule('when: {}'), /rules\[0\]\.when must name at least one argument/],
    ['a value instead of a condition', rule('when: { a: 5 }'), /rules\[0\]\.when\.a must be a mapping/],
    ['a condition without words', rule('when: { a: {} }'), /rules\[0\]\.when\.a must hold one of: equals, /],
    ['an unknown condition', rule('when: { a: { over: 5 } }'), /rules\[0\]\.when\.a\.over is not known/],
    [
      'a bound that is a text',
      rule('when: { a: { above: "5" } }'),
      /rules\[0\]\.when\.a\.above must be a number/,
    ],
    ['an empty range', rule('when: { a: { above: 5, below: 5 } }'), /rules\[0\]\.when\.a can never match/],
    [
      'an empty choice',
      rule('when: { a: { in: [] } }'),
      /rules\[0\]\.when\.a\.in must be a list, and not empty/,
    ],
    ['no regular expression', rule('when: { a: { matches: "(" } }'), /matches is no regular expression/],
    ['a folder that is relative', rule('when: { a: { inside: x } }'), /inside must be an absolute path/],
    ['an empty path', rule('when: { /a: { present: true } }'), /names the path "\/a"; write it like a\/b/],
    [
      'a title that nobody reads',
      'server: x\nrules: [{ tool: t, effect: deny, title: x }]',
      /title has no use/,
    ],
    ['a reason that nobody reads', rule('reason: x'), /reason is only for rules that deny/],
    ['a time in words', 'server: x\nhold_seconds: soon', /hold_seconds must be a whole number from 1/],
    [
      'a variable that is not set',
      'server: x\nenv: { A: "${NONE_SUCH}" }',
      /env\.A names the variable NONE_SUCH/,
    ],
    [
      'a file that is not there',
      'server: x\nheaders: { A: "${file:none}" }',
      /headers\.A names the file none, which/,
    ],
    [
      'a hidden rule',
      'server: x\nrules: [{ tool: "a*", effect: deny }, { tool: [ab, a*c], effect: allow }]',
      /rules\[1\] can never match: rules\[0\]/,
    ],
    [
      'the same rule twice',
      `${WHEN('{ a: { equals: 1 } }').slice(0, -1)}, { tool: t, effect: deny, when: { a: { equals: 1 } } }]`,
      /rules\[1\] can never match/,
    ],
  ])('with %s is refused, with its place', async (_, text, words) => {
    await expect(read(text)).rejects.toThrow(words)
    await expect(read(text)).rejects.toThrow(join(folder, 'gate.yaml'))
  })

  it('may be JSON, and repeats no secret in an error', async () => {
    await writeFile(join(folder, 'token'), 'secret-4711\n')
    const gate = await read('{"server": "x", "env": {"A": "Bearer ${file:token}"}}')
    expect(gate).toMatchObject({ env: { A: 'Bearer secret-4711' }, unlisted: 'approve', holdSeconds: 50 })
    await writeFile(join(folder, 'token'), 'secret-4711\nmore')
    const error = await read('{"server": "x", "env": {"A": "${file:token}"}}').catch(String)
    expect(error).toMatch(/env\.A must be one line/)
    expect(
      String(error) + (await read('server: x\nenv: { A: secret-4711, A: b }').catch(String)),
    ).not.toContain('4711')
  })

  it('rules behind one with conditions are not hidden', async () => {
    const { rules } = await read(`${WHEN('{ a: { equals: 1 } }').slice(0, -1)}, { tool: "*", effect: deny }]`)
    expect(rules).toHaveLength(2)
  })
})

describe('one stream for all that wait', () => {
  /** A service whose streams the test writes. */
  async function start() {
    const streams: ServerResponse[] = []
    const server = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      streams.push(response)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const watch = watchDecisions(readPeer({ url, key: 'sa_live_x' }))
    onTestFinished(() => {
      watch.close()
      server.closeAllConnections()
      server.close()
    })
    const say = (event: string, data: object = {}) =>
      streams.at(-1)?.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
    const woken = new Set<string>()
    const wait = (id: string, since = watch.since(), signal = new AbortController().signal) =>
      watch.changed(id, signal, since).then(() => woken.add(id))
    return { streams, say, woken, wait, watch }
  }

  it('wakes those that are decided, and those that the list at the beginning leaves out', async () => {
    const { streams, say, woken, wait, watch } = await start()
    for (const id of ['open', 'gone']) void wait(id)
    await expect.poll(() => streams.length).toBe(1)
    say('status', { id: 'open', status: 'pending' })
    say('listed')
    await expect.poll(() => [...woken]).toEqual(['gone'])
    // Decided before anybody waits for it.
    const since = watch.since()
    say('status', { id: 'early', status: 'approved' })
    say('status', { id: 'open', status: 'rejected' })
    await expect.poll(() => [...woken]).toEqual(['gone', 'open'])
    await wait('early', since)
    // Read before the list was there: to be read once more.
    await watch.changed('late', new AbortController().signal, undefined)
    expect(streams).toHaveLength(1)
  })

  it('looks at each when the stream is cut, and opens another', async () => {
    const { streams, say, woken, wait } = await start()
    void wait('a')
    await expect.poll(() => streams.length).toBe(1)
    say('status', { id: 'a', status: 'pending' })
    say('listed')
    streams[0]?.destroy()
    await expect.poll(() => woken.has('a')).toBe(true)
    void wait('b')
    await expect.poll(() => streams.length).toBe(2)
  })

  it('is left by those whose call is cancelled', async () => {
    const { wait } = await start()
    const control = new AbortController()
    const waiting = wait('a', undefined, control.signal)
    control.abort()
    await waiting
  })
})
