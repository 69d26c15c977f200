import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { transformWithOxc } from 'vite'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { packagePath } from '../../src/config/package-path.ts'
import { hasPython, runPython } from '../python/python-suite.ts'
import { stored } from '../support/caller.ts'
import { decideByPasskey, type LiveSetting, setUpOwner } from '../support/live.ts'
import { LIGHT_NPX } from '../support/npx.ts'
import { startService, type TestService } from '../support/service.ts'

const PAGES = ['README.md', 'docs/agents.md'].map((path) => ({
  path,
  text: readFileSync(packagePath(path), 'utf8'),
}))

/** The blocks of that language, with the service's address in them. */
function blocks(language: string, word: string): [string, string][] {
  return PAGES.flatMap(({ path, text }) =>
    [...text.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, 'gm'))]
      .map(([, block = '']): [string, string] => [path, block])
      .filter(([, block]) => block.includes(word)),
  )
}

let service: TestService
let setting: LiveSetting
beforeAll(async () => {
  service = await startService()
  setting = await setUpOwner(service)
})
afterAll(() => service.close())

const here = (block: string) => block.replaceAll('http://localhost:3000', service.url)

/** Runs a program from this folder until it ends. */
function run(program: string, args: string[], input = '') {
  const env = {
    PATH: process.env.PATH,
    HOME: '/nowhere',
    COUNTERSIGN_URL: service.url,
    COUNTERSIGN_KEY: setting.key,
  }
  return new Promise<{ out: string; failed: string }>((resolve) => {
    const child = execFile(program, args, { cwd: packagePath('.'), env }, (_, out, failed) =>
      resolve({ out, failed }),
    )
    child.stdin?.end(input)
  })
}

async function approve(action: string): Promise<void> {
  const find = () => stored(service, 'requests').find({ action, status: 'pending' }).toArray()
  await expect.poll(async () => (await find()).length).toBe(1)
  const [request] = await find()
  expect((await decideByPasskey(setting, String(request?._id), 'approved')).status).toBe(200)
}

describe('what the documents give agents to copy', () => {
  it.each(blocks('ts', 'cs.guard'))(
    '%s: the guarded function runs once, after a person approved',
    async (_, block) => {
      const { code } = await transformWithOxc(here(block), 'block.ts')
      const start = () => run(process.execPath, ['--input-type=module'], code)
      const [, action = ''] = /=> `([^`]+)`,\n/.exec(block) ?? []
      const values: Record<string, string> = {
        service: 'checkout',
        version: '4.2',
        order: '4711',
        amount: '19.90',
      }
      const first = start()
      await approve(action.replace(/\$\{(\w+)\}/g, (_, name: string) => values[name] ?? name))
      const { out, failed } = await first
      expect(failed).toBe('')
      expect(out).toMatch(/^(deploying checkout 4\.2|refunded 19\.90 of order 4711)\n$/)
      expect(await start()).toEqual({ out: '', failed: expect.stringContaining('Used') })
    },
  )

  it.skipIf(!hasPython).each(blocks('python', 'cs.requires_approval'))(
    '%s: the function in Python runs once, after a person approved',
    async (path, block) => {
      const start = () => runPython(['-c', here(block)], { COUNTERSIGN_KEY: setting.key })
      const first = start()
      const inReadme = path === 'README.md'
      await approve(inReadme ? 'Roll checkout back to 4.1' : 'Pay EUR 19.90 to ACME')
      const out = inReadme ? 'rolling checkout back to 4.1\n' : 'paid 19.90 for INV-7\n'
      expect(await first).toEqual({ code: 0, out, err: '' })
      expect(await start()).toMatchObject({ out: '', err: expect.stringContaining('used before') })
    },
  )

  const server = z.union([
    z.object({ type: z.literal('http'), url: z.url(), headers: z.record(z.string(), z.string()) }),
    z.object({ command: z.string(), args: z.array(z.string()), env: z.record(z.string(), z.string()) }),
  ])
  const config = z.object({ mcpServers: z.object({ countersign: server }) })

  it.each(blocks('json', '"countersign": {'))('%s: the host finds the five tools', async (_, block) => {
    const filled = here(block).replaceAll('${COUNTERSIGN_KEY}', setting.key)
    const { countersign } = config.parse(JSON.parse(filled)).mcpServers
    const transport =
      'url' in countersign
        ? new StreamableHTTPClientTransport(new URL(countersign.url), {
            requestInit: { headers: countersign.headers },
          })
        : new StdioClientTransport({ ...countersign, cwd: packagePath('.') })
    const client = new Client({ name: 'host', version: '1' })
    await client.connect(transport)
    onTestFinished(() => client.close())
    const { tools } = await client.listTools()
    const named = PAGES.flatMap(({ text }) =>
      [...text.matchAll(/^\| `(\w+_\w+)` \|/gm)].map(([, name]) => name),
    )
    expect(tools.map(({ name }) => name)).toEqual(named)
  })

  it('of each host the line that matters, as it stands in its example', () => {
    const rows = PAGES.flatMap(({ text }) => [
      ...text.matchAll(/^\| \[[^\]]+\]\(\.\.\/(examples\/agents\/[^)]+)\) \| `(.+?)` \|/gm),
    ])
    expect(rows.length).toBeGreaterThanOrEqual(6)
    for (const [, path = '', line] of rows) expect(readFileSync(packagePath(path), 'utf8')).toContain(line)
  })

  it('a script goes on only after the approval', async () => {
    const [[, block = ''] = []] = blocks('sh', 'countersign ask')
    const script = `${LIGHT_NPX}${block.replace('./deploy.sh', 'echo deployed')}`
    const ended = run('bash', ['--norc', '-uc', script])
    await approve('Deploy release 4.2')
    expect((await ended).out).toMatch(/^req_\w+ is approved\ndeployed\n$/)
  })
})
