// POSTs that a proxy loses when it sends them over a connection that the service is closing. The built service runs as a process
// on an embedded store of its own, behind an nginx that keeps idle connections; before and after each idle time come 50 creates
// at once. Fails if one of the 1,000 is not answered with 201. Needs nginx and two minutes.
// Usage: npm run build && node bench/keep-alive.mjs [KEEP_ALIVE_SECONDS]; with 5 it shows the race.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { compose } from '../dist/src/compose/compose.js'
import { readConfig } from '../dist/src/config/config.js'
import { inviteUser } from '../dist/src/flow/joining/invite-user.js'
import { createApiKey } from '../dist/src/flow/keys/manage-api-keys.js'
import { drawSecrets, silent, startProcess, startStore } from './support/set-up.mjs'

/** Around the end of a connection: Node.js's own default, 5 s and one more, and what is asked for. */
const IDLE_MS = [4_000, 5_000, 5_900, 5_940, 5_970, 5_990, 6_000, 6_010, 6_050, 7_000]
const AT_ONCE = 50
const PROXY_PORT = 3_977

const seconds = process.argv[2]
const store = await startStore()
const env = {
  ...drawSecrets(),
  PORT: '3976',
  BASE_URL: 'http://localhost:3976',
  TRUST_PROXY: '1',
  DATA_DIR: store.dataDir,
  MONGODB_URI: store.uri,
  ...(seconds && { KEEP_ALIVE_SECONDS: seconds }),
}
const folder = await mkdtemp(join(tmpdir(), 'countersign-bench-nginx-'))
const bench = await compose(readConfig(env), { log: silent })
const service = startProcess(['bin/start.mjs'], env)
await service.says(/Countersign is running/)
const proxy = await startProxy()
let lost = 0
try {
  for (const idle of IDLE_MS) {
    // Two keys, since one may make only 60 requests a minute.
    const [first, second] = [await makeKey(), await makeKey()]
    const answers = await createAtOnce(first)
    await pause(idle)
    answers.push(...(await createAtOnce(second)))
    const failed = answers.filter((status) => status !== 201)
    lost += failed.length
    console.log(`idle ${idle} ms: ${failed.length} of ${answers.length} lost ${[...new Set(failed)]}`)
  }
  console.log(`${lost} of ${2 * IDLE_MS.length * AT_ONCE} POSTs lost; goal 0`)
  process.exitCode = lost === 0 ? 0 : 1
} finally {
  await bench.close()
  proxy.kill('SIGTERM')
  await once(proxy, 'exit')
  await service.stop()
  await store.stop()
  await rm(folder, { recursive: true, force: true })
}

async function makeKey() {
  const email = `${Math.random().toString(36).slice(2)}@example.com`
  const { user } = await inviteUser(bench.deps, { email }, { kind: 'cli' })
  const input = { accountId: user.account_id, name: 'bench', sandbox: true }
  return (await createApiKey(bench.deps, input, { kind: 'cli' })).raw_key
}

/** @returns the status of each answer */
function createAtOnce(key) {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
  const create = async () => {
    const url = `http://127.0.0.1:${PROXY_PORT}/api/v1/approvals/request`
    const answer = await fetch(url, { method: 'POST', headers, body: '{"action":"Bench"}' })
    await answer.text()
    return answer.status
  }
  return Promise.all(Array.from({ length: AT_ONCE }, create))
}

async function startProxy() {
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (of) => `${of}_temp_path ${folder}/${of};`,
  )
  const configuration = `
    daemon off; worker_processes 1; pid ${folder}/pid; error_log stderr error;
    events {}
    http {
      ${paths.join(' ')} access_log off;
      upstream pooled { server 127.0.0.1:${env.PORT}; keepalive 200; }
      server {
        listen 127.0.0.1:${PROXY_PORT};
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_set_header Host localhost:${env.PORT};
        location / { proxy_pass http://pooled; }
      }
    }`
  await writeFile(join(folder, 'nginx.conf'), configuration)
  const child = spawn(
    process.env.NGINX_PATH ?? '/usr/sbin/nginx',
    ['-e', 'stderr', '-p', folder, '-c', join(folder, 'nginx.conf')],
    {
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  )
  process.once('exit', () => child.kill())
  const url = `http://127.0.0.1:${PROXY_PORT}/healthz`
  while (!(await fetch(url).catch(() => undefined))) await pause(20)
  return child
}
