import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { type RealService, startRealService } from '../../packages/client/test/real-service.ts'
import { packagePath } from '../../src/config/package-path.ts'
import { hasPython } from '../python/python-suite.ts'
import { hostileTable } from './hostile-table.ts'
import { pythonHost } from './python-host.ts'

const FOLDER = packagePath('examples/agents/github-actions')
const texts = z.record(z.string(), z.string())
const read = async (name: string): Promise<unknown> => parse(await readFile(join(FOLDER, name), 'utf8'))

const action = z
  .object({
    inputs: z.record(
      z.string(),
      z.object({ required: z.boolean().default(false), default: z.string().optional() }),
    ),
    runs: z.object({ steps: z.tuple([z.object({ shell: z.literal('bash'), run: z.string(), env: texts })]) }),
  })
  .parse(await read('action.yml'))
/** The step of the workflow that takes the action. */
const used = z
  .object({ with: texts, env: texts })
  .parse(JSON.parse(JSON.stringify(await read('deploy.yml'))).jobs.production.steps.at(-1))

hostileTable({
  name: 'GitHub Actions',
  ...pythonHost('github_actions', [], { ACTION: JSON.stringify(action) }),
  without: {
    'the arguments change in memory after the ask':
      'nothing changes the environment of a process from outside',
    'the host’s own approval step answers with a mistyped verdict': 'it has none',
  },
})

describe.skipIf(!hasPython)('the workflow in examples/agents/github-actions', () => {
  let service: RealService
  beforeAll(async () => {
    service = await startRealService()
  })
  afterAll(() => service.close())

  /** A checkout with what the workflow deploys, and the job in it. */
  async function startJob(script: string) {
    const folder = await mkdtemp(join(tmpdir(), 'job-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const key = await service.newKey()
    const inFolder = (name: string, text: string) => writeFile(join(folder, name), text)
    await mkdir(join(folder, 'dist'))
    await inFolder('dist/app.tar.gz', 'release 4.2')
    await inFolder('deploy.sh', `#!/bin/sh\n${script}\n`)
    await chmod(join(folder, 'deploy.sh'), 0o755)
    const git = (...args: string[]) => execFileSync('git', ['-C', folder, ...args], { stdio: 'pipe' })
    git('init')
    git('add', 'deploy.sh')
    git('-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '-m', 'release')
    const [step] = action.runs.steps
    const inputs: Record<string, string> = { ...used.with, url: service.url, key }
    const filled = Object.entries(step.env).map(([name, text]) => [
      name,
      text.replace(
        /\$\{\{ inputs\.([\w-]+) \}\}/g,
        (_, input) => inputs[input] ?? action.inputs[input]?.default ?? '',
      ),
    ])
    const env = {
      PATH: process.env.PATH,
      PYTHONDONTWRITEBYTECODE: '1',
      ...used.env,
      ...Object.fromEntries(filled),
      GITHUB_ACTION_PATH: FOLDER,
      GITHUB_ACTION: 'deploy',
      GITHUB_JOB: 'production',
      GITHUB_OUTPUT: join(folder, 'output'),
      GITHUB_REPOSITORY: 'acme/shop',
      GITHUB_RUN_ATTEMPT: '1',
      GITHUB_RUN_ID: '1',
      GITHUB_SERVER_URL: 'https://github.example.com',
      GITHUB_STEP_SUMMARY: join(folder, 'summary'),
    }
    await inFolder('script.sh', step.run)
    const shell = ['--noprofile', '--norc', '-eo', 'pipefail', join(folder, 'script.sh')]
    return {
      key,
      inFolder,
      left: (name: string) => readFile(join(folder, name), 'utf8'),
      run: (attempt = '1') =>
        new Promise<{ code: unknown; out: string; log: string }>((resolve) => {
          const told = { cwd: folder, env: { ...env, GITHUB_RUN_ATTEMPT: attempt } }
          execFile('bash', shell, told, (error, out, log) => resolve({ code: error?.code ?? 0, out, log }))
        }),
      async whole(id: string): Promise<unknown> {
        const headers = { Authorization: `Bearer ${key}` }
        return (await fetch(`${service.url}/api/v1/approvals/${id}`, { headers })).json()
      },
      async asked(many = 1) {
        await expect.poll(async () => (await service.requestsOf(key)).length, { interval: 100 }).toBe(many)
        const [newest] = await service.requestsOf(key)
        return newest ?? { id: '', action: '' }
      },
    }
  }

  it('gives the action the inputs that it has', () => {
    const required = Object.entries(action.inputs).filter(([, { required }]) => required)
    expect(Object.keys(action.inputs)).toEqual(expect.arrayContaining(Object.keys(used.with)))
    expect(Object.keys(used.with)).toEqual(expect.arrayContaining(required.map(([name]) => name)))
  })

  it('deploys after a person approved: with the secrets of the step, without the key, and with the exit code of the command', async () => {
    const job = await startJob('env | grep -E "^(APPROVAL|DEPLOY)"; echo "deployed $1"; exit 7')
    const ended = job.run()
    const { id, action } = await job.asked()
    const sha256 = createHash('sha256').update('release 4.2').digest('hex')
    const context = {
      command: used.with.run,
      commit: expect.stringMatching(/^[0-9a-f]{40}$/),
      changed_since: {},
      files: { 'dist/app.tar.gz': sha256 },
      job: 'https://github.example.com/acme/shop/actions/runs/1',
    }
    expect(await job.whole(id)).toMatchObject({ context })
    expect(action).toBe(`Run ${used.with.run}`)
    await service.decide(id, 'approved')
    const url = `${service.url}/a/${id}`
    expect(await ended).toEqual({
      code: 7,
      out: `::notice title=A person decides::${url}\nDEPLOY_TOKEN=${used.env.DEPLOY_TOKEN}\ndeployed dist/app.tar.gz\n`,
      log: '',
    })
    expect(await job.left('output')).toBe(`request=${id}\n`)
    expect(await job.left('summary')).toBe(`[Decision](${url})\n`)
  })

  it.each(['dist/app.tar.gz', 'deploy.sh'])(
    'deploys nothing where %s changed after the ask, and asks anew in the next attempt',
    async (file) => {
      const job = await startJob('echo deployed')
      const first = job.run()
      const { id } = await job.asked()
      await job.inFolder(file, 'something else')
      await service.decide(id, 'approved')
      const refused = await first
      expect(refused).toMatchObject({ code: 1, log: expect.stringMatching(/^::error::.*a file changed/) })
      expect(refused.out).not.toContain('deployed')
      const second = job.run('2')
      await service.decide((await job.asked(2)).id, 'rejected', 'Not\ntoday: 100%')
      expect(await second).toMatchObject({
        code: 1,
        log: expect.stringMatching(
          /^::error::Not done: a person rejected this and wrote "Not\\ntoday: 100%25"\..*\n$/,
        ),
      })
    },
  )

  const linter = process.env.ACTIONLINT ?? ''
  it.skipIf(!linter)('is what actionlint accepts', () => {
    execFileSync(linter, ['-shellcheck=', '-pyflakes=', join(FOLDER, 'deploy.yml')], { stdio: 'pipe' })
  })
})
