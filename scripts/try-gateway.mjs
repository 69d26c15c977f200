// Puts the gateway in front of public MCP servers from npm, and speaks to it with the official clients in TypeScript (both majors)
// and, if MCP_PYTHON is a Python that has it, in Python: part of `npm run check`. The servers are installed for this alone, by their
// exact version; without a registry, a notice. A sandbox decides. The rules of the first one are those of docs/agents.md.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { Client as ClientV2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'

const VERSION = '2026.8.31'
const NAMES = ['filesystem', 'memory', 'everything']
const LIMIT_MS = 120_000
const root = fileURLToPath(new URL('..', import.meta.url))
const COMMAND = join(root, 'packages/client/bin/countersign.js')
const { MCP_PYTHON = 'python3' } = process.env
const self = { name: 'try', version: '1' }

const folder = mkdtempSync(join(tmpdir(), 'countersign-gateway-'))
const project = join(folder, 'project')
mkdirSync(project)
writeFileSync(join(project, 'a.txt'), 'hello')
const files = readFileSync(join(root, 'docs/agents.md'), 'utf8').match(/^```yaml\n(.*?)^```/ms)[1]

/** For each server: its rules, and calls with what must become of them. */
const CASES = [
  {
    server: 'filesystem',
    words: [project],
    rules: files.replaceAll('/srv/project', project),
    calls: [
      ['read_text_file', { path: join(project, 'a.txt') }, /^hello$/],
      ['write_file', { path: join(project, 'b.txt'), content: 'x' }, /Successfully wrote/],
      ['move_file', { source: join(project, 'a.txt'), destination: join(project, 'c.txt') }, /moved by hand/],
    ],
  },
  {
    server: 'memory',
    words: [],
    env: `env: { MEMORY_FILE_PATH: ${join(folder, 'memory.json')} }`,
    rules: 'server: memory\nrules: [{ tool: read_graph, effect: allow }, { tool: delete_*, effect: deny }]\n',
    calls: [
      ['read_graph', {}, /entities/],
      ['create_entities', { entities: [{ name: 'ACME', entityType: 'firm', observations: [] }] }, /\[/],
      ['delete_entities', { entityNames: ['ACME'] }, /rules of the gateway forbid/],
    ],
  },
  {
    server: 'everything',
    words: [],
    rules: 'server: everything\nrules: [{ tool: echo, effect: allow }, { tool: get-env, effect: deny }]\n',
    calls: [
      ['echo', { message: 'hi' }, /hi/],
      ['get-sum', { a: 2, b: 3 }, /5/],
      ['get-env', {}, /rules of the gateway forbid/],
    ],
  },
]

const PYTHON = `
import asyncio, json, os, sys
from mcp import Client, StdioServerParameters
command, arguments, calls = json.loads(sys.argv[1])
async def main():
    async with Client(StdioServerParameters(command=command, args=arguments, env=dict(os.environ)), read_timeout_seconds=60) as client:
        tools = (await client.list_tools()).tools
        answers = [(await client.call_tool(name, given)).content[0].text for name, given in calls]
        print(json.dumps([[tool.name for tool in tools], answers]))
asyncio.run(main())
`

try {
  if (install()) await tryAll()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function install() {
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  const packages = NAMES.map((name) => `@modelcontextprotocol/server-${name}@${VERSION}`)
  const quiet = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--silent']
  const { status } = spawnSync('npm', ['install', ...quiet, ...packages], { cwd: folder, timeout: LIMIT_MS })
  if (status !== 0)
    process.stdout.write('npm gave no MCP servers: the gateway is not tried in front of them\n')
  return status === 0
}

async function tryAll() {
  const port = await freePort()
  const url = `http://localhost:${port}`
  const base = { PATH: process.env.PATH, HOME: folder }
  const env = { ...base, DATA_DIR: join(folder, 'data'), PORT: String(port), BASE_URL: url }
  const bin = join(root, 'bin/countersign.mjs')
  const demo = execFileSync(process.execPath, [bin, 'demo'], { env, encoding: 'utf8', timeout: LIMIT_MS })
  const service = spawn(process.execPath, [join(root, 'bin/start.mjs')], { env, stdio: 'ignore' })
  try {
    const until = performance.now() + LIMIT_MS
    while (
      !(await fetch(`${url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      ))
    ) {
      if (performance.now() > until) throw new Error('the service does not start')
      await delay(100)
    }
    const caller = { ...base, COUNTERSIGN_URL: url, COUNTERSIGN_KEY: demo.match(/sa_test_\w+/)[0] }
    for (const one of CASES) await tryServer(one, caller)
    await tryAddress(caller)
  } finally {
    service.kill('SIGTERM')
    await once(service, 'exit')
  }
}

async function tryServer({ server, words, rules, env = '', calls }, caller) {
  const command = [join(folder, 'node_modules/.bin', `mcp-server-${server}`), ...words]
  await tryClients(server, command, `${rules}${env}\n`, calls, caller)
}

/** The same server once more, at an address. */
async function tryAddress(caller) {
  const port = await freePort()
  const env = { PATH: process.env.PATH, PORT: String(port) }
  const program = join(folder, 'node_modules/.bin/mcp-server-everything')
  const child = spawn(program, ['streamableHttp'], { env, stdio: 'ignore' })
  try {
    const url = `http://127.0.0.1:${port}/mcp`
    while (
      !(await fetch(url).then(
        () => true,
        () => false,
      ))
    )
      await delay(100)
    const { rules, calls } = CASES.find(({ server }) => server === 'everything')
    await tryClients('everything at an address', [url], rules, calls, caller)
  } finally {
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
}

async function tryClients(name, server, rules, calls, env) {
  const config = join(folder, `${name}.yaml`)
  writeFileSync(config, rules)
  const argv = (...options) => [
    COMMAND,
    'gateway',
    '--config',
    config,
    '--allow-sandbox',
    ...options,
    '--',
    ...server,
  ]
  execFileSync(process.execPath, argv('--pin'), {
    env,
    timeout: LIMIT_MS,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const process_ = { command: process.execPath, args: argv(), env, stderr: 'ignore' }
  const given = calls.map(([tool, args]) => [tool, args])
  const clients = {
    'client v1': () => speak(new ClientV1(self), new StdioV1(process_), given),
    'client v2': () =>
      speak(new ClientV2(self, { versionNegotiation: { mode: 'auto' } }), new StdioV2(process_), given),
    ...(hasPython() && { Python: () => speakPython(process_, given) }),
  }
  const direct =
    server.length === 1 && server[0].startsWith('http') ? undefined : await listDirect(server, env)
  for (const [client, run] of Object.entries(clients)) {
    const [tools, answers] = await run()
    if (direct !== undefined && !isDeepStrictEqual(tools, direct))
      throw new Error(`${name}, ${client}: other tools than without the gateway`)
    for (const [index, [tool, , wanted]] of calls.entries())
      if (!wanted.test(answers[index]))
        throw new Error(`${name}, ${client}: ${tool} answered ${answers[index]}`)
    process.stdout.write(
      `gateway: ${name} ${VERSION}, ${client}: allowed, approved and denied as the rules say\n`,
    )
  }
}

async function speak(client, transport, calls) {
  await client.connect(transport)
  try {
    const { tools } = await client.listTools()
    const answers = []
    for (const [name, args] of calls)
      answers.push((await client.callTool({ name, arguments: args })).content[0].text)
    return [tools.map((tool) => tool.name), answers]
  } finally {
    await client.close()
  }
}

async function listDirect([command, ...args], env) {
  const client = new ClientV1(self)
  await client.connect(new StdioV1({ command, args, env, stderr: 'ignore' }))
  const { tools } = await client.listTools()
  await client.close()
  return tools.map((tool) => tool.name)
}

function speakPython({ command, args, env }, calls) {
  const given = JSON.stringify([command, args, calls])
  const options = { env, encoding: 'utf8', timeout: LIMIT_MS, stdio: ['ignore', 'pipe', 'ignore'] }
  return JSON.parse(execFileSync(MCP_PYTHON, ['-c', PYTHON, given], options))
}

function hasPython() {
  return spawnSync(MCP_PYTHON, ['-c', 'from mcp import Client']).status === 0
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  return port
}
