import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readFile, realpath, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { waitUntil } from '../../../test/support/chat-platform.ts'
import { expectStatus } from '../../../test/support/enrolled.ts'
import { createHttpClient } from '../../../test/support/http-client.ts'
import { quote } from '../cli/run.ts'
import { type Caller, startCaller } from './caller.ts'
import { type RealService, startRealService } from './real-service.ts'

let service: RealService
let folder: string
let key: string
beforeAll(async () => {
  service = await startRealService()
})
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'run-')))
  key = await service.newKey()
  await copyFile('/bin/sh', join(folder, 'shell'))
  await writeFile(join(folder, 'deploy.sh'), '#!/bin/sh\necho "$0 $1"; exit 7\n', { mode: 0o755 })
  return () => rm(folder, { recursive: true, force: true })
})
afterAll(() => service.close())

function start(...argv: string[]): Caller {
  return startWith({}, ...argv)
}

function startWith(more: Record<string, string>, ...argv: string[]): Caller {
  const env = { HOME: folder, COUNTERSIGN_URL: service.url, COUNTERSIGN_KEY: key, TOKEN: 'secret', ...more }
  return startCaller(['run', ...argv], { cwd: folder, env })
}

async function read(id: string) {
  const headers = { authorization: `Bearer ${key}` }
  return expectStatus(await createHttpClient(service.url).get(`/api/v1/approvals/${id}`, { headers }), 200)
}

const sha256 = async (name: string) =>
  createHash('sha256')
    .update(await readFile(join(folder, name)))
    .digest('hex')
const git = (...argv: string[]) =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...argv], {
    cwd: folder,
    encoding: 'utf8',
  })

describe('countersign run', () => {
  it('runs an approved program from the file that was hashed, with its exit code', async () => {
    git('init', '-q')
    git('add', 'deploy.sh')
    git('commit', '-qm', 'x')
    const line = 'readlink /proc/$$/fd/3; echo "$0 $TOKEN"; exit 7'
    const { asked, ended } = start('--env', 'TOKEN', '--', './shell', '-c', line, 'deploy.sh')
    const id = await asked()
    const { action, context } = await read(id)
    expect(action).toBe(`Run: ./shell -c '${line}' deploy.sh`)
    expect(context).toEqual({
      command: ['./shell', '-c', line, 'deploy.sh'],
      directory: folder,
      program: { path: join(folder, 'shell'), sha256: await sha256('shell') },
      files: [{ path: join(folder, 'deploy.sh'), sha256: await sha256('deploy.sh') }],
      git: { head: git('rev-parse', 'HEAD').trim(), dirty: true },
      environment: ['TOKEN'],
      environment_hmac: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    await service.decide(id, 'approved')
    expect(await ended).toMatchObject({ code: 7, out: `${join(folder, 'shell')}\ndeploy.sh secret\n` })
    expect((await read(id)).consumed_at).toEqual(expect.any(String))
  })

  it.each([
    [["it's", '', 'a b'], `'it'\\''s' '' 'a b'`],
    [['$(x)', '`y`', '--a=b/c.d'], "'$(x)' '`y`' --a=b/c.d"],
  ])('shows the arguments %j as a shell would read them', (words, line) => {
    expect(words.map(quote).join(' ')).toBe(line)
    const read = execFileSync('sh', ['-c', `for word in ${line}; do echo "$word"; done`], {
      encoding: 'utf8',
    })
    expect(read).toBe(words.map((word) => `${word}\n`).join(''))
  })

  it('runs a script by its name, and says so', async () => {
    const { asked, ended } = start('--', './deploy.sh', 'production')
    await service.decide(await asked(), 'approved')
    const { code, out, err } = await ended
    expect({ code, out }).toEqual({ code: 7, out: `${join(folder, 'deploy.sh')} production\n` })
    expect(err).toContain('runs by its name')
  })

  it.each<[string, string[], () => Promise<unknown>, RegExp]>([
    [
      'the program was replaced',
      ['./shell', '-c', 'echo ran'],
      async () => {
        await copyFile('/bin/echo', join(folder, 'other'))
        await rename(join(folder, 'other'), join(folder, 'shell'))
      },
      /program changed since/,
    ],
    [
      'a script was edited',
      ['./deploy.sh'],
      () => writeFile(join(folder, 'deploy.sh'), 'x'),
      /program changed/,
    ],
    [
      'a file of the arguments was edited',
      ['sh', '-c', './deploy.sh'],
      () => writeFile(join(folder, 'deploy.sh'), 'x'),
      /files changed/,
    ],
    [
      'git has another state',
      ['echo', 'ran'],
      async () => git('commit', '--allow-empty', '-qm', 'y'),
      /git changed/,
    ],
  ])('does not run when %s', async (_, command, change, words) => {
    git('init', '-q')
    git('commit', '--allow-empty', '-qm', 'x')
    const { asked, ended } = start('--', ...command)
    const id = await asked()
    await change()
    await service.decide(id, 'approved')
    expect(await ended).toMatchObject({ code: 20, out: '', err: expect.stringMatching(words) })
    expect((await read(id)).consumed_at).toBeUndefined()
  })

  it('killed and started again, it is one request, which runs once', async () => {
    const first = start('--', 'echo', 'ran')
    const id = await first.asked()
    first.child.kill('SIGKILL')
    await service.decide(id, 'approved')
    expect(await start('--', 'echo', 'ran').ended).toMatchObject({ code: 0, out: 'ran\n' })
    const again = await start('--within', '4', '--', 'echo', 'ran').ended
    expect(again).toMatchObject({ code: 13, out: '', err: expect.stringContaining('did not run') })
    expect(again.err).not.toContain(id)
  })

  it.each(['TOKEN', 'LD_PRELOAD'])('another value of %s is another request', async (name) => {
    const first = startWith({ [name]: '' }, '--env', 'TOKEN', '--', 'echo', 'ran')
    const id = await first.asked()
    first.child.kill('SIGKILL')
    await service.decide(id, 'approved')
    const other = startWith({ [name]: '/none.so' }, '--env', 'TOKEN', '--', 'echo', 'ran')
    expect(await other.asked()).not.toBe(id)
  })

  /** Each would run `touch <folder>/ran` when git looks at the work, if git did what the repository says. */
  const HOSTILE: [string, (evil: string) => unknown][] = [
    ['a hook', (evil) => writeFile(join(folder, '.git/hooks/post-index-change'), evil, { mode: 0o755 })],
    ['a monitor', () => git('config', 'core.fsmonitor', `${folder}/evil`)],
    ...['clean', 'process'].map((kind): [string, () => unknown] => [
      `a filter (${kind}) of its attributes`,
      () => {
        git('config', `filter.A.b.${kind}`, `${folder}/evil`)
        git('config', 'filter.A.b.required', 'true')
        return writeFile(join(folder, '.gitattributes'), '*.sh filter=A.b\n')
      },
    ]),
    [
      'a filter of a name that git does not take on the command line',
      () => {
        git('config', 'filter.a=b.clean', `${folder}/evil`)
        return writeFile(join(folder, '.git/info/attributes'), '*.sh filter=a=b\n')
      },
    ],
    [
      'a filter of a submodule',
      async () => {
        await mkdir(join(folder, 'sub'))
        git('-C', 'sub', 'init', '-q')
        await writeFile(join(folder, 'sub/a.sh'), 'x')
        git('-C', 'sub', 'add', '.')
        git('-C', 'sub', 'commit', '-qm', 'x')
        git('add', 'sub')
        git('commit', '-qm', 'sub')
        git('-C', 'sub', 'config', 'filter.x.clean', `${folder}/evil`)
        await writeFile(join(folder, 'sub/.git/info/attributes'), '* filter=x\n')
        await utimes(join(folder, 'sub/a.sh'), 1, 1)
      },
    ],
    [
      'the transport of an object that is missing',
      async () => {
        git('config', 'core.repositoryFormatVersion', '1')
        git('config', 'extensions.partialClone', 'origin')
        git('config', 'remote.origin.promisor', 'true')
        git('config', 'remote.origin.url', `ext::${folder}/evil`)
        git('config', 'protocol.ext.allow', 'always')
        const tree = git('rev-parse', 'HEAD^{tree}').trim()
        await rm(join(folder, '.git/objects', tree.slice(0, 2), tree.slice(2)))
      },
    ],
    [
      'a program called git of a package',
      async (evil) => {
        await mkdir(join(folder, 'node_modules/.bin'), { recursive: true })
        await writeFile(join(folder, 'node_modules/.bin/git'), evil, { mode: 0o755 })
      },
    ],
  ]

  it.each(HOSTILE)('before it asks, nothing of the repository runs: %s', async (_, prepare) => {
    const evil = `#!/bin/sh\ntouch '${folder}/ran'\n`
    await writeFile(join(folder, 'evil'), evil, { mode: 0o755 })
    git('init', '-q')
    git('add', 'deploy.sh')
    git('commit', '-qm', 'x')
    await prepare(evil)
    await utimes(join(folder, 'deploy.sh'), 1, 1)
    const PATH = `${join(folder, 'node_modules/.bin')}:${process.env.PATH}`
    const id = await startWith({ PATH }, '--', './deploy.sh').asked()
    expect((await read(id)).context.git).toMatchObject({ head: expect.stringMatching(/^[0-9a-f]{40}$/) })
    expect(existsSync(join(folder, 'ran'))).toBe(false)
    // A bare look would have run it. Most of what is hostile is no good filter or transport, so git then fails.
    spawnSync('git', ['status', '--porcelain'], { cwd: folder, env: { PATH } })
    expect(existsSync(join(folder, 'ran'))).toBe(true)
  })

  it('calls what only a filter would make clean dirty, and what git cannot read', async () => {
    const dirty = async () => (await read(await start('--', './deploy.sh').asked())).context.git.dirty
    git('init', '-q')
    git('add', '.')
    git('commit', '-qm', 'x')
    await utimes(join(folder, 'deploy.sh'), 1, 1)
    expect(await dirty()).toBe(false)
    await writeFile(join(folder, '.git/index'), 'x')
    expect(await dirty()).toBe(true)
  })

  it('a sandbox decision does not count, unless it is allowed', async () => {
    key = await service.newKey(true)
    expect(await start('--', 'echo', 'ran').ended).toMatchObject({
      code: 20,
      out: '',
      err: expect.stringContaining('no person decides about this sandbox key'),
    })
    expect(await start('--allow-sandbox', '--', 'echo', 'ran').ended).toMatchObject({ code: 0, out: 'ran\n' })
  })

  it('of 4 equal runs at once one runs; the others end as used before', async () => {
    const runs = Array.from({ length: 4 }, () => start('--', 'echo', 'ran'))
    const ids = await Promise.all(runs.map(({ asked }) => asked()))
    expect(new Set(ids).size).toBe(1)
    await service.decide(ids[0] ?? '', 'approved')
    const ends = await Promise.all(runs.map(({ ended }) => ended))
    expect(ends.map(({ code }) => code).sort()).toEqual([0, 14, 14, 14])
  })

  it('does not run what was rejected', async () => {
    const { asked, ended } = start('--', 'echo', 'ran')
    await service.decide(await asked(), 'rejected', 'no')
    expect(await ended).toMatchObject({ code: 10, out: '', err: expect.stringContaining('rejected: no') })
  })

  it('hands signals on, and ends as the command does', async () => {
    const { asked, ended, child } = start(
      '--',
      'sh',
      '-c',
      'trap "exit 9" TERM; echo up >&2; while :; do sleep 0.1; done',
    )
    let heard = ''
    child.stderr?.on('data', (text: string) => (heard += text))
    await service.decide(await asked(), 'approved')
    await waitUntil(() => expect(heard).toContain('up'))
    child.kill('SIGTERM')
    expect(await ended).toMatchObject({ code: 9 })
    const killed = start('--', 'sh', '-c', 'kill -KILL $$')
    await service.decide(await killed.asked(), 'approved')
    expect(await killed.ended).toMatchObject({ code: 137 })
  })

  it.each<[string, string[], RegExp]>([
    ['nothing', [], /takes a command after --/],
    ['a command without --', ['echo'], /Unexpected argument|positional/],
    ['no program', ['--', 'none-such'], /there is no program none-such/],
    ['a program that nobody may run', ['--', './notes.txt'], /there is no program/],
    ['a variable that is not set', ['--env', 'NONE', '--', 'echo'], /has no NONE/],
    ['a time in words', ['--within', 'soon', '--', 'echo'], /--within must be/],
    ['too long a command', ['--', 'echo', 'x'.repeat(20_000)], /context/],
  ])('%s ends with 20 and a sentence', async (_, argv, words) => {
    await writeFile(join(folder, 'notes.txt'), '')
    expect(await start(...argv).ended).toMatchObject({ code: 20, out: '', err: expect.stringMatching(words) })
    expect(await service.requestsOf(key)).toEqual([])
  })
})
