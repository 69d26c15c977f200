import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { packagePath } from '../../src/config/package-path.ts'
import { cli } from '../support/cli.ts'
import { freePort } from '../support/service.ts'
import { watchProcess } from './child.ts'
import { parseDotEnv } from './compose-file.ts'
import { newEnv, useProject } from './env-file.ts'
import { HAS_NGINX, useProxy } from './nginx.ts'

const PAGE = readFileSync(packagePath('docs/deploy.md'), 'utf8')

function blocks(language: string): string[] {
  return [...PAGE.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, text = '']) => text,
  )
}

/** Runs a block in the package's folder; it ends with the test, and so does everything it started. */
function runBlock(block: string, env: Record<string, string>) {
  const child = spawn('bash', ['--norc', '-euc', block], {
    cwd: packagePath('.'),
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', STORE_TIMEOUT_MS: '90000', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  onTestFinished(async () => {
    const gone = once(child.stdout, 'close')
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
    await gone
  })
  return watchProcess(child)
}

describe('docs/deploy.md', () => {
  it('names commands of new-env.sh that work', async () => {
    const commands = blocks('shell').flatMap((block) => [
      ...block.matchAll(/^sh deploy\/new-env\.sh(.*) && docker/gm),
    ])
    const addresses = commands.map(([, args = '']) => args.trim().split(' ')[0])
    expect(addresses).toEqual(['', 'https://approvals.example.com'])
    const trial = await useProject()
    await newEnv(trial)
    const { BASE_URL } = parseDotEnv(readFileSync(join(trial, '.env'), 'utf8'))
    expect(PAGE).toContain(`${BASE_URL}/setup#`)
  })

  it('starts two processes on one store, and a command sees what both see', async () => {
    const holding = (word: string) =>
      blocks('sh').find((text) => text.includes(word)) ?? expect.unreachable(word)
    const [startStore, startProcesses] = [holding('countersign.mjs store'), holding('countersign.mjs serve')]
    const folder = await mkdtemp(join(tmpdir(), 'countersign-deploy-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const env = { DATA_DIR: join(folder, 'data') }
    const [, uri = ''] = await runBlock(startStore, env).line(/^MONGODB_URI=(\S+)$/m)
    const ports = [await freePort(), await freePort()]
    const block = startProcesses
      .replace("'mongodb://…'", `'${uri}'`)
      .replace('PORT=3001 ', `PORT=${ports[0]} `)
      .replace('PORT=3002 ', `PORT=${ports[1]} `)
    const processes = runBlock(block, env)
    await processes.line(/Countersign is running[\s\S]*Countersign is running/)
    for (const port of ports) expect((await fetch(`http://localhost:${port}/readyz`)).status).toBe(200)
    const listed = await cli(['user', 'list', '--json'], { env: { ...env, MONGODB_URI: uri } })
    expect([listed.code, listed.json().data]).toEqual([0, []])
    if (!HAS_NGINX) return
    const [http = ''] = blocks('nginx')
    const origin = /BASE_URL=\S+:(\d+) /.exec(startProcesses)?.[1]
    expect(http).toContain(`listen ${origin};`)
    const named = http
      .replace('/srv/countersign/', `${packagePath('.')}/`)
      .replace('127.0.0.1:3001', `127.0.0.1:${ports[0]}`)
      .replace('127.0.0.1:3002', `127.0.0.1:${ports[1]}`)
    const { port } = await useProxy({ processes: [], http: named })
    const asked = await fetch(`http://127.0.0.1:${port}/api/v1/approvals/request`, { method: 'POST' })
    expect([asked.status, Object(await asked.json()).error]).toEqual([401, 'invalid or missing API key'])
  })
})
