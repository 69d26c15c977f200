import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { waitUntil } from '../../../test/support/chat-platform.ts'
import { expectStatus } from '../../../test/support/enrolled.ts'
import { createHttpClient } from '../../../test/support/http-client.ts'
import { describeCall, readCall } from '../cli/hook.ts'
import { type Caller, COMMAND, startCaller } from './caller.ts'
import { type RealService, startRealService } from './real-service.ts'

let service: RealService
let folder: string
let key: string
beforeAll(async () => {
  service = await startRealService()
})
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'hook-')))
  key = await service.newKey()
  return () => rm(folder, { recursive: true, force: true })
})
afterAll(() => service.close())

const bash = (command: string, more: object = {}) => ({
  session_id: crypto.randomUUID(),
  transcript_path: '/t.jsonl',
  cwd: folder,
  permission_mode: 'default',
  hook_event_name: 'PreToolUse',
  tool_name: 'Bash',
  tool_input: { command, description: `As a model says it, ${crypto.randomUUID()}` },
  tool_use_id: crypto.randomUUID(),
  ...more,
})

/** What both hosts run, on the given call. */
function start(call: unknown, env: Record<string, string> = {}, argv: string[] = []): Caller {
  const input = typeof call === 'string' ? call : JSON.stringify(call)
  const own = { HOME: folder, COUNTERSIGN_URL: service.url, COUNTERSIGN_KEY: key, ...env }
  return startCaller(['hook', ...argv], { cwd: folder, env: own, input })
}

async function asked(count = 1): Promise<string> {
  await waitUntil(async () => expect(await service.requestsOf(key)).toHaveLength(count))
  return (await service.requestsOf(key))[0]?.id ?? ''
}

const api = () => createHttpClient(service.url)
const own = () => ({ headers: { authorization: `Bearer ${key}` } })

async function read(id: string) {
  return expectStatus(await api().get(`/api/v1/approvals/${id}`, own()), 200)
}

const allowed = { code: 0, err: '' }
const denied = (words: RegExp) => ({
  code: 2,
  err: expect.stringMatching(words),
  out: expect.stringMatching(/^$|"permissionDecision":"deny"|"behavior":"deny"/),
})

describe('countersign hook', () => {
  it.each([
    ['Claude Code', {}, { permissionDecision: 'allow' }],
    [
      'Claude Code that would ask',
      { hook_event_name: 'PermissionRequest' },
      { decision: { behavior: 'allow' } },
    ],
    ['Codex', { turn_id: 't' }, undefined],
    [
      'Codex that would ask',
      { turn_id: 't', hook_event_name: 'PermissionRequest' },
      { decision: { behavior: 'allow' } },
    ],
  ])('%s runs an approved call, whose approval is then used', async (host, more, decision) => {
    const { ended } = start(bash('npm publish', more))
    const id = await asked()
    if (host === 'Codex') await service.restart('SIGKILL')
    await service.decide(id, 'approved')
    const { out, ...end } = await ended
    expect(end).toEqual(allowed)
    if (decision === undefined) expect(out).toBe('')
    else expect(JSON.parse(out)).toMatchObject({ hookSpecificOutput: decision })
    expect(await read(id)).toMatchObject({
      action: 'Run Bash: npm publish',
      context: { tool: 'Bash', arguments: { command: 'npm publish' }, directory: folder },
      consumed_at: expect.any(String),
    })
  })

  it.each([
    ['PreToolUse', { permissionDecision: 'deny', permissionDecisionReason: expect.stringContaining('"no"') }],
    ['PermissionRequest', { decision: { behavior: 'deny', message: expect.stringContaining('"no"') } }],
  ])('a rejection denies with the comment (%s)', async (hook_event_name, decision) => {
    const { ended } = start(bash('npm publish', { hook_event_name }))
    await service.decide(await asked(), 'rejected', 'no')
    const { out, ...end } = await ended
    expect(end).toEqual({ code: 2, err: expect.stringContaining('"no"') })
    expect(JSON.parse(out)).toEqual({ hookSpecificOutput: { hookEventName: hook_event_name, ...decision } })
  })

  it('an approval that comes too late serves a repeat of the call, once', async () => {
    const late = start(bash('npm publish'), {}, ['--deadline', '4'])
    const id = await asked()
    expect(await late.ended).toMatchObject(denied(/nobody has decided yet.*repeat the same call/))
    await service.decide(id, 'approved')
    expect(await start(bash('npm publish')).ended).toMatchObject(allowed)
    expect((await read(id)).consumed_at).toEqual(expect.any(String))
    const third = start(bash('npm publish'))
    expect(await asked(2)).not.toBe(id)
    third.child.kill('SIGKILL')
  })

  it('a hook whose host has ended it leaves the approval to a repeat of the call', async () => {
    // Not the last command of the line, so that the shell does not become the hook.
    const hook = `exec 3<&0; '${process.execPath}' '${COMMAND}' hook <&3 & echo $! >&2; wait; exit 2`
    const env = { HOME: folder, COUNTERSIGN_URL: service.url, COUNTERSIGN_KEY: key }
    const host = startCaller(
      { shell: hook },
      { cwd: folder, env, input: JSON.stringify(bash('npm publish')) },
    )
    const id = await asked()
    host.child.kill('SIGKILL')
    await service.decide(id, 'approved')
    expect((await host.ended).err).toMatch(/the host has ended the call/)
    expect((await read(id)).consumed_at).toBeUndefined()
    expect(await start(bash('npm publish')).ended).toMatchObject(allowed)
  })

  it('other arguments, or another directory, are another request', async () => {
    const open = start(bash('pay 30'))
    const id = await asked()
    open.child.kill('SIGKILL')
    await service.decide(id, 'approved')
    const others = [bash('pay 31'), bash('pay 30', { cwd: tmpdir() }), bash('pay 30', { tool_name: 'Shell' })]
    const waiting = others.map((call) => start(call))
    await asked(4)
    for (const { child } of waiting) child.kill('SIGKILL')
    expect(await start(bash('pay 30')).ended).toMatchObject(allowed)
  })

  it('of 6 equal calls at once one runs', async () => {
    const calls = Array.from({ length: 6 }, () => start(bash('npm publish'), {}, ['--deadline', '15']))
    await service.decide(await asked(), 'approved')
    const ends = await Promise.all(calls.map(({ ended }) => ended))
    expect(ends.filter(({ code }) => code === 0)).toHaveLength(1)
    for (const end of ends.filter(({ code }) => code !== 0))
      expect(end).toMatchObject(denied(/used before|nobody has decided yet/))
  })

  it.each([
    ['the script', 'sh ./deploy.sh production'],
    ['a script after cd', 'cd sub && FOO=1 ../deploy.sh'],
    ['a script in quotes', `bash -c "./deploy.sh 'production'"`],
    ['a file of an option', 'terraform apply --plan=deploy.sh'],
  ])('denies when %s was changed in between', async (_, command) => {
    const script = join(folder, 'deploy.sh')
    await mkdir(join(folder, 'sub'))
    await writeFile(script, 'echo fine\n')
    const { ended } = start(bash(command))
    const id = await asked()
    expect((await read(id)).context.files).toContainEqual({
      path: script,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    await writeFile(script, 'echo evil\n')
    await service.decide(id, 'approved')
    expect(await ended).toMatchObject(denied(/changed since a person was asked/))
    expect((await read(id)).consumed_at).toBeUndefined()
  })

  it.each<[string, () => [unknown, Record<string, string>?, string[]?], RegExp]>([
    ['no JSON', () => ['{"tool'], /no JSON/],
    ['nothing', () => [''], /no JSON/],
    ['a list', () => ['[]'], /is for PreToolUse and PermissionRequest/],
    ['another event', () => [bash('ls', { hook_event_name: 'PostToolUse' })], /is for PreToolUse/],
    ['no tool', () => [bash('ls', { tool_name: '' })], /must name `tool_name`/],
    ['no arguments', () => [bash('ls', { tool_input: 'ls' })], /must name `tool_name`/],
    ['a relative directory', () => [bash('ls', { cwd: '.' })], /must name `tool_name`/],
    ['a time-out in words', () => [bash('ls'), {}, ['--deadline', 'soon']], /--deadline must be/],
    ['an unknown option', () => [bash('ls'), {}, ['--allow-sandbox']], /allow-sandbox/],
    ['text that no person can read', () => [bash('ls \ud800')], /not well-formed Unicode/],
    ['a wrong key', () => [bash('ls'), { COUNTERSIGN_KEY: 'sa_live_wrong' }], /invalid or missing API key/],
    ['no key', () => [bash('ls'), { COUNTERSIGN_KEY: '', COUNTERSIGN_URL: '' }], /countersign login/],
    ['no home', () => [bash('ls'), { COUNTERSIGN_KEY: '', COUNTERSIGN_URL: '', HOME: '' }], /HOME is empty/],
    [
      'no service',
      () => [bash('ls'), { COUNTERSIGN_URL: 'http://127.0.0.1:9' }, ['--deadline', '1']],
      /cannot be reached/,
    ],
  ])('%s denies', async (_, given, words) => {
    expect(await start(...given()).ended).toMatchObject(denied(words))
    expect(await service.requestsOf(key)).toEqual([])
  })

  it('a sandbox key denies', async () => {
    const env = { COUNTERSIGN_KEY: await service.newKey(true) }
    expect(await start(bash('ls'), env).ended).toMatchObject(denied(/sandbox key/))
  })

  it('a withdrawn request, a signal and an answer that nobody reads deny', async () => {
    const gone = start(bash('a'))
    expectStatus(await api().post(`/api/v1/approvals/${await asked()}/cancel`, {}, own()), 200)
    expect(await gone.ended).toMatchObject(denied(/withdrawn/))
    const stopped = start(bash('b'))
    await asked(2)
    stopped.child.kill('SIGTERM')
    expect(await stopped.ended).toMatchObject(denied(/SIGTERM/))
    const unread = start(bash('c'))
    const id = await asked(3)
    unread.child.stdout?.destroy()
    await service.decide(id, 'approved')
    expect((await unread.ended).code).toBe(2)
  })

  it('attaches long texts, for a person to read, and compares them', async () => {
    const write = (content: string) => ({
      ...bash(''),
      tool_name: 'Write',
      tool_input: { file_path: '/a.ts', content },
    })
    const { ended } = start(write('x'.repeat(40_000)))
    const id = await asked()
    const { action, context } = await read(id)
    expect(action).toBe('Run Write (long: see the attachments): /a.ts')
    const sha256 = createHash('sha256').update('x'.repeat(40_000)).digest('hex')
    expect(context.arguments).toEqual({ file_path: '/a.ts', content: { attachment: 'content', sha256 } })
    const other = start(write(`${'x'.repeat(39_999)}y`))
    expect(await asked(2)).not.toBe(id)
    other.child.kill('SIGKILL')
    await service.decide(id, 'approved')
    expect(await ended).toMatchObject(allowed)
  })

  it('attaches a long edit as the change it makes', () => {
    const [old_string, new_string] = ['a\n'.repeat(9000), 'b\n']
    const call = {
      ...bash(''),
      tool_name: 'Edit',
      tool_input: { file_path: '/a.ts', old_string, new_string },
    }
    expect(describeCall(readCall(JSON.stringify(call))).attachments).toEqual([
      { name: 'old_string', text: old_string },
      { name: 'new_string', text: new_string, base: 'old_string' },
    ])
  })

  it('says in the action that not all of arguments too long to attach is shown, and compares all of them', async () => {
    const write = (content: string) => ({
      ...bash(''),
      tool_name: 'Write',
      tool_input: { file_path: '/a.ts', content },
    })
    const { ended } = start(write(`"${'x'.repeat(300_000)}`))
    const id = await asked()
    const { action, context } = await read(id)
    expect(action).toBe('Run Write (too long: only the beginning is shown): /a.ts')
    expect(context).toMatchObject({
      arguments_in_part: { characters: 300_036, sha256: expect.stringMatching(/^\w{64}$/) },
    })
    await service.decide(id, 'approved')
    expect(await ended).toMatchObject(allowed)
    const other = start(write(`"${'x'.repeat(299_999)}y`))
    expect((await read(await asked(2))).context.arguments_in_part.beginning).toBe(
      context.arguments_in_part.beginning,
    )
    other.child.kill('SIGKILL')
  })

  it.each([
    [
      'rm -rf a\u001b[2K\r\nls \u202e\u{e0041}',
      'Run Bash: rm -rf a\\u{1b}[2K\\u{d}\\nls \\u{202e}\\u{e0041}',
    ],
    ['é👍'.repeat(400), `Run Bash: ${'é👍'.repeat(234)}é…`],
  ])('shows a command on one line (%#)', (command, action) => {
    expect(describeCall(readCall(JSON.stringify(bash(command)))).action).toBe(action)
  })

  it('starts in less than 100 ms beyond Node itself', () => {
    // Computing time: what else the machine does is not in it.
    const took = (...argv: string[]) => {
      const line = '"$@" >/dev/null 2>&1; times'
      const { stdout } = spawnSync('sh', ['-c', line, 'sh', process.execPath, ...argv], {
        input: '{',
        encoding: 'utf8',
      })
      // Its second line is of what it ran: user and system.
      const times = [...(stdout.split('\n')[1] ?? '').matchAll(/(\d+)m([\d.]+)s/g)]
      expect(times).toHaveLength(2)
      return times.reduce(
        (sum, [, minutes, seconds]) => sum + 60_000 * Number(minutes) + 1000 * Number(seconds),
        0,
      )
    }
    const least = (...argv: string[]) => Math.min(...Array.from({ length: 4 }, () => took(...argv)))
    expect(least(COMMAND, 'hook') - least('-e', '0')).toBeLessThan(100)
  })
})
