import { describe, expect, it } from 'vitest'
import { buildInfo } from '../../src/config/package-path.ts'
import { cli, useDataDir } from '../support/cli.ts'

/** Wrong calls and what they are told; none may touch a store. */
const WRONG: [string, string[], string][] = [
  [
    'an unknown command',
    ['explode'],
    "unknown command 'explode'; choose among serve, store, backup, export, import, restore, migrate, log, witness, doctor, user, key, signing-keys, audit, erase, verify, requests, webhooks, completion, demo, slack, teams",
  ],
  ['an unknown part', ['doctor', 'slakc'], "unknown command 'slakc'; choose among slack, teams, smtp"],
  [
    'an unknown command of a group',
    ['key', 'make'],
    "unknown command 'make'; choose among create, list, revoke",
  ],
  ['no command', [], 'missing: <command>'],
  ['no command of a group', ['user'], 'missing: <command>'],
  [
    'help with an unknown command',
    ['help', 'explode'],
    "unknown command 'explode'; choose among serve, store, backup, export, import, restore, migrate, log, witness, doctor, user, key, signing-keys, audit, erase, verify, requests, webhooks, completion, demo, slack, teams",
  ],
  [
    'help with an unknown command of a group',
    ['key', 'help', 'make'],
    "unknown command 'make'; choose among create, list, revoke",
  ],
  ['an argument too many', ['store', 'x'], "too many arguments for 'store'. Expected 0 arguments but got 1."],
  ['an unknown option', ['user', 'list', '--all'], "unknown option '--all'"],
  ['a missing argument', ['user', 'invite'], 'missing: <email>'],
  ['a missing option', ['key', 'create', '--name', 'x'], 'missing: --owner <email>'],
  ['two missing options', ['key', 'create'], 'missing: --owner <email>, --name <name>'],
  ['a missing argument and option', ['verify'], 'missing: <receipt>, --jwks <source>'],
  ['an address that is none', ['user', 'invite', 'alice'], '"alice" is not an e-mail address.'],
  [
    'an unknown scope',
    ['key', 'create', '--owner', 'a@example.com', '--name', 'x', '--scopes', 'approval:decide'],
    '"approval:decide" is not a scope; choose among approval:create, approval:read, approval:verify.',
  ],
  [
    'a name with a line break',
    ['key', 'create', '--owner', 'a@example.com', '--name', 'two\nlines'],
    'The name must be one line without control characters.',
  ],
  [
    'an unknown purpose',
    ['signing-keys', 'rotate', '--purpose', 'x'],
    '"x" is not a purpose; choose among decision, decision-sandbox, session, token, log.',
  ],
  [
    'a time that is none',
    ['signing-keys', 'rotate', '--activate', 'soon'],
    '--activate must be "now" or a time such as 30m, 24h or 7d, at most 90d.',
  ],
  [
    'two times',
    ['signing-keys', 'rotate', '--activate', '1h', '--now'],
    '--now and --activate exclude each other.',
  ],
]

describe('the command line', () => {
  it.each(WRONG)('answers %s with exit code 2, in words and as JSON', async (_what, arguments_, message) => {
    const { env } = await useDataDir()
    const plain = await cli(arguments_, { env })
    expect([plain.code, plain.stdout]).toEqual([2, ''])
    expect(plain.stderr).toContain(message)
    const machine = await cli([...arguments_, '--json'], { env })
    expect([machine.code, machine.stdout]).toEqual([2, ''])
    expect(machine.error()).toEqual({ error: 'usage', message })
  })

  it('names its version, and the commit that the build saw', async () => {
    const { version, commit } = buildInfo()
    expect(commit).toMatch(/^(?:[0-9a-f]{12}(?:-dirty)?|unknown)$/)
    expect(await cli(['--version'])).toMatchObject({ code: 0, stdout: `${version} (${commit})\n` })
  })

  it('explains itself', async () => {
    const help = await cli(['--help'])
    expect(help.code).toBe(0)
    for (const command of ['serve', 'store', 'doctor', 'user', 'key', 'signing-keys', 'verify'])
      expect(help.stdout).toMatch(new RegExp(`^ {2}${command}\\b`, 'm'))
    for (const half of [[], ['user']]) {
      const told = await cli(half)
      expect([told.code, told.stdout]).toEqual([2, ''])
      expect(told.stderr).toMatch(/^Usage: countersign [\s\S]*\nExamples:\n[\s\S]*\nmissing: <command>\n$/)
    }
  })

  it.each([
    'countersign',
    ...['doctor', 'user', 'key', 'signing-keys', 'audit', 'slack', 'teams'].map(
      (name) => `countersign ${name}`,
    ),
  ])('has examples in the help of %s, of commands and options that it knows', async (group) => {
    const { stdout } = await cli([...group.split(' ').slice(1), '--help'])
    const examples = stdout.split('\nExamples:\n')[1]?.trim().split('\n') ?? []
    expect(examples).not.toEqual([])
    for (const example of examples) {
      const [, command = '', options = ''] =
        /^ *(countersign(?: [a-z][a-z-]*(?= |$))*)(.*)$/.exec(example) ?? []
      expect(command.startsWith(group)).toBe(true)
      const help = await cli([...command.split(' ').slice(1), '--help'])
      expect([help.code, help.stdout.startsWith(`Usage: ${command} [options]`)]).toEqual([0, true])
      for (const [option] of options.matchAll(/--[a-z-]+/g)) expect(help.stdout).toContain(`  ${option}`)
    }
  })

  it('knows signing-keys by its old name, which says so', async () => {
    const { env } = await useDataDir()
    const [fresh, old] = [await cli(['signing-keys', 'list'], { env }), await cli(['keys', 'list'], { env })]
    const warning =
      'warning: "countersign keys" is now "countersign signing-keys"; the next release removes the old name\n'
    expect(old).toMatchObject({ code: fresh.code, stderr: warning + fresh.stderr })
    const json = await cli(['keys', 'list', '--json'], { env })
    expect(json.error()).toMatchObject({ error: 'no_store' })
  })

  it('says which variables keep it from working', async () => {
    const env = { PORT: 'x', BASE_URL: 'http://example.com/path' }
    const listed = await cli(['--json', 'user', 'list'], { env })
    expect(listed.code).toBe(1)
    expect(listed.error()).toEqual({
      error: 'config_invalid',
      message: 'The configuration cannot be used:\n  - PORT: must be a port number',
    })
  })

  it('says when MongoDB does not answer, without the password', async () => {
    const { env } = await useDataDir()
    const MONGODB_URI = 'mongodb://u:hidden-word@127.0.0.1:1/x'
    // Longer than half of the time that a start is given: this try is the only one.
    const away = { ...env, MONGODB_URI, STORE_TIMEOUT_MS: '7000' }
    const listed = await cli(['user', 'list', '--json'], { env: away })
    expect(listed.code).toBe(1)
    expect(listed.error()).toEqual({
      error: 'store_unreachable',
      message: expect.stringMatching(/^The store does not answer: .*Check MONGODB_URI, /),
    })
    expect(listed.stderr).not.toContain('hidden-word')
  })
})
