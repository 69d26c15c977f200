import { spawnSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { waitUntil } from '../../../test/support/chat-platform.ts'
import { gapOf } from '../cli/hook-install.ts'
import { startCaller } from './caller.ts'
import { startRealService } from './real-service.ts'

let folder: string
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'hook-')))
  return () => rm(folder, { recursive: true, force: true })
})

describe('countersign hook install', () => {
  const install = async (argv: string[], version = '2.1.332 (Claude Code)', action = 'install') => {
    await mkdir(join(folder, 'bin'), { recursive: true })
    const claude = join(folder, 'bin', 'claude')
    await writeFile(claude, `#!/bin/sh\necho '${version}'\n`)
    await chmod(claude, 0o755)
    const env = { HOME: folder, PATH: `${join(folder, 'bin')}:${process.env.PATH}` }
    return startCaller(['hook', action, ...argv], { cwd: folder, env }).ended
  }
  const settings = async (path = '.claude/settings.json') =>
    JSON.parse(await readFile(join(folder, path), 'utf8'))
  const hook = {
    type: 'command',
    command: expect.stringMatching(/countersign\.js' hook --deadline 570 \|\| \{ echo '.*' >&2; exit 2; \}$/),
    timeout: 600,
    onFailure: 'block',
    statusMessage: expect.any(String),
  }

  it('writes a hook that blocks, keeps all else, and is taken out again', async () => {
    const other = { matcher: 'Read', hooks: [{ type: 'command', command: 'other' }] }
    const before = { model: 'x', hooks: { PreToolUse: [other], Stop: [other] } }
    await mkdir(join(folder, '.claude'))
    const path = join(folder, '.claude/settings.json')
    await writeFile(path, JSON.stringify(before), { mode: 0o640 })
    for (let times = 0; times < 2; times++) {
      expect(await install(['--matcher', 'Bash'])).toMatchObject({ code: 0, err: '' })
      expect(await settings()).toEqual({
        model: 'x',
        hooks: { PreToolUse: [other, { matcher: 'Bash', hooks: [hook] }], Stop: [other] },
      })
    }
    expect((await install([], '', 'uninstall')).code).toBe(0)
    expect(await settings()).toEqual(before)
    expect(spawnSync('stat', ['-c', '%a', path], { encoding: 'utf8' }).stdout.trim()).toBe('640')
  })

  it('writes for the user, for the other event, and for Codex, which it says cannot fail closed', async () => {
    expect((await install(['--user', '--event', 'PermissionRequest'])).code).toBe(0)
    expect(await settings()).toMatchObject({ hooks: { PermissionRequest: [{ hooks: [hook] }] } })
    expect(await install(['--codex'])).toMatchObject({
      code: 20,
      err: expect.stringContaining('cannot fail closed'),
    })
    const told = await install(['--codex', '--force'])
    expect(told).toMatchObject({ code: 0, err: expect.stringContaining('cannot fail closed') })
    const { onFailure: _, ...plain } = hook
    expect((await settings('.codex/hooks.json')).hooks.PreToolUse[0].hooks).toEqual([plain])
    expect((await install(['--codex'], '', 'uninstall')).code).toBe(0)
    expect(await settings('.codex/hooks.json')).toEqual({})
  })

  it.each<[string, string[], string, string, RegExp]>([
    [
      'a version that cannot fail closed',
      [],
      '2.1.294 (Claude Code)',
      '',
      /runs the call when a hook.*this is 2\.1\.294/,
    ],
    ['an unknown version', [], 'dev', '', /did not say which version/],
    ['settings that are no JSON', [], '2.1.295', '{,}', /no settings as JSON/],
    ['settings that are no object', [], '2.1.295', '[]', /no settings as JSON/],
    ['settings that switch hooks off', [], '2.1.295', '{"disableAllHooks":true}', /disableAllHooks/],
    ['hooks that are no list', [], '2.1.295', '{"hooks":{"PreToolUse":{"odd":1}}}', /no settings as JSON/],
    ['another event', ['--event', 'Stop'], '2.1.295', '', /--event must be/],
    ['an argument', ['here'], '2.1.295', '', /takes options only/],
  ])('refuses %s, and writes nothing', async (_, argv, version, text, words) => {
    await mkdir(join(folder, '.claude'))
    if (text !== '') await writeFile(join(folder, '.claude/settings.json'), text)
    expect(await install(argv, version)).toMatchObject({
      code: 20,
      out: '',
      err: expect.stringMatching(words),
    })
    expect(await readFile(join(folder, '.claude/settings.json'), 'utf8').catch(() => '')).toBe(text)
  })

  it.each([
    ['2.1.295 (Claude Code)', true],
    ['2.2.0', true],
    ['3.0.0-beta.1', true],
    ['2.1.294 (Claude Code)', false],
    ['2.0.999', false],
    ['1.9.400', false],
    ['dev', false],
    ['', false],
    [null, false],
  ])('knows that version %j fails closed: %j', (version, closed) => {
    expect(gapOf(version) === undefined).toBe(closed)
  })

  it('refuses where other settings of this folder switch hooks off', async () => {
    await mkdir(join(folder, '.claude'))
    await writeFile(join(folder, '.claude/settings.local.json'), '{"disableAllHooks":true}')
    expect(await install(['--user'])).toMatchObject({
      code: 20,
      err: expect.stringContaining('settings.local.json sets disableAllHooks'),
    })
  })

  it('installs for an older version if told, and shows without writing', async () => {
    expect((await install(['--force'], '2.0.9')).err).toMatch(/runs the call when a hook/)
    expect(await settings()).toMatchObject({ hooks: { PreToolUse: [{ hooks: [hook] }] } })
    const shown = await install(['--dry-run', '--matcher', 'Bash'])
    expect(JSON.parse(shown.out)).toMatchObject({
      hooks: { PreToolUse: [{ matcher: 'Bash', hooks: [hook] }] },
    })
    expect((await settings()).hooks.PreToolUse[0].matcher).not.toBe('Bash')
  })

  it.each([
    ['an unknown Claude Code', [], 'dev', /did not say which version.*Add --force/],
    ['an older Claude Code', [], '2.0.9', /this is 2\.0\.9\. Add --force/],
    ['Codex', ['--codex'], '', /cannot fail closed.*Add --force/],
  ])('shows what it would write for %s, and warns', async (_, argv, version, words) => {
    const shown = await install([...argv, '--dry-run'], version)
    expect(shown).toMatchObject({ code: 0, err: expect.stringMatching(words) })
    expect(JSON.parse(shown.out).hooks.PreToolUse).toHaveLength(1)
    expect(await readdir(folder)).toEqual(['bin'])
  })

  it('what it installs denies with a reason even if the program is killed or gone', async () => {
    const service = await startRealService()
    onTestFinished(() => service.close())
    const key = await service.newKey()
    expect((await install([])).code).toBe(0)
    const { command } = (await settings()).hooks.PreToolUse[0].hooks[0]
    const call = {
      hook_event_name: 'PreToolUse',
      tool_name: 'Bash',
      tool_input: { command: 'npm publish' },
      cwd: folder,
    }
    const run = (shell: string) => {
      const env = { HOME: folder, COUNTERSIGN_URL: service.url, COUNTERSIGN_KEY: key }
      return startCaller({ shell }, { cwd: folder, env, input: JSON.stringify(call) })
    }
    const approved = run(command)
    await waitUntil(async () => expect(await service.requestsOf(key)).toHaveLength(1))
    await service.decide((await service.requestsOf(key))[0]?.id ?? '', 'approved')
    expect(await approved.ended).toMatchObject({ code: 0, err: '' })
    const killed = run(command.replace(/^.*(?= hook)/, "sh -c 'kill -KILL $$'"))
    expect(await killed.ended).toMatchObject({
      code: 2,
      err: expect.stringContaining('did not allow this call'),
    })
    const gone = run(command.replace('countersign.js', 'gone.js'))
    expect(await gone.ended).toMatchObject({
      code: 2,
      err: expect.stringContaining('did not allow this call'),
    })
  })
})
