// Cards to Teams: how soon many are posted at the pace Teams allows, and when a call that gets no answer is given up. The
// built service with its work, on an embedded store of its own, against a Teams of this process that takes everything.
// Needs a quiet machine for a minute. Usage: npm run build && node bench/bots.mjs
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createTeams } from '../dist/adapters/teams/teams.js'
import { compose } from '../dist/src/compose/compose.js'
import { startWork } from '../dist/src/compose/start-work.js'
import { readConfig } from '../dist/src/config/config.js'
import { inviteUser } from '../dist/src/flow/joining/invite-user.js'
import { createApiKey } from '../dist/src/flow/keys/manage-api-keys.js'
import { createRequest } from '../dist/src/flow/requests/create-request.js'
import { createChatConversationStores } from '../dist/src/store/chat/chat-conversations.js'
import { silent } from './support/set-up.mjs'

const PEOPLE = 3
const REQUESTS = 20
/** Each conversation takes seven at once and eight in two seconds. */
const POSTED_WITHIN_MS = 30_000
/** A call has ten seconds, its token included. */
const GIVEN_UP_MS = [9_000, 13_000]
const MOVED = { kind: 'moved' }

const teams = await startTeams()
const dataDir = await mkdtemp(join(tmpdir(), 'countersign-bench-'))
const tenant = randomUUID()
const config = readConfig({
  DATA_DIR: dataDir,
  TEAMS_APP_ID: randomUUID(),
  TEAMS_APP_PASSWORD: 'secret',
  TEAMS_TENANT_ID: tenant,
  TEAMS_OPENID_URL: `http://${teams.host}/openid`,
  TEAMS_LOGIN_URL: `http://${teams.host}`,
  TEAMS_SERVICE_HOSTS: teams.host,
})
const service = await compose(config, { log: silent })
const work = await startWork(config, service)
try {
  const posted = await measurePosts()
  const givenUp = await measureHung()
  const [least, most] = GIVEN_UP_MS
  console.table([
    {
      what: `${PEOPLE * REQUESTS} cards to ${PEOPLE} people are posted`,
      ms: Math.round(posted),
      goal: `at most ${POSTED_WITHIN_MS}`,
      verdict: posted <= POSTED_WITHIN_MS ? 'met' : 'MISSED',
    },
    ...givenUp.map(({ what, ms }) => ({
      what: `${what} without an answer is given up`,
      ms: Math.round(ms),
      goal: `${least} to ${most}`,
      verdict: ms >= least && ms <= most ? 'met' : 'MISSED',
    })),
  ])
} finally {
  await work.stop()
  await service.close()
  teams.close()
  await rm(dataDir, { recursive: true, force: true })
}

/** Sign-in and connector; `hangs` says which calls get no answer. */
function startTeams() {
  const it = { posts: 0, hangs: () => false }
  let made = 0
  const server = createServer(async (request, response) => {
    for await (const _chunk of request);
    if (it.hangs(request)) return
    const { url, method } = request
    made += 1
    const [, isToken] = /(\/oauth2\/v2\.0\/token)$/.exec(url) ?? []
    if (method === 'POST' && /\/activities(\/|$)/.test(url)) it.posts += 1
    const said = isToken
      ? { access_token: `token-${made}`, expires_in: 3600, token_type: 'Bearer' }
      : { id: `${method === 'POST' && url.endsWith('/conversations') ? 'a:' : ''}${made}` }
    response.writeHead(isToken ? 200 : 201, { 'Content-Type': 'application/json' }).end(JSON.stringify(said))
  })
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => {
      const close = () => {
        server.closeAllConnections()
        server.close()
      }
      resolve(Object.assign(it, { host: `127.0.0.1:${server.address().port}`, close }))
    }),
  )
}

/** People who are linked, and an application that asks all of them. */
async function setUp() {
  const { deps } = service
  const people = []
  for (let one = 0; one < PEOPLE; one += 1) {
    const email = `${randomBytes(6).toString('hex')}@example.com`
    const { user } = await inviteUser(deps, { email }, { kind: 'cli' })
    const identity = { platform: 'teams', tenant, user: randomUUID(), linked_at: deps.clock.now() }
    people.push(await deps.users.change(user.id, user.version, { chat: [identity] }, []))
  }
  const account = await deps.accounts.find(people[0].account_id)
  const members = people.slice(1).map(({ id, name }) => ({
    user_id: id,
    name,
    role: 'approver',
    state: 'active',
    invited_at: deps.clock.now(),
  }))
  const policy = { ...account.policy, approvers: people.map(({ id }) => id) }
  await deps.accounts.change(account.id, account.version, { members, policy }, [])
  const input = { accountId: account.id, name: 'bench', sandbox: false }
  const { key } = await createApiKey(deps, input, { kind: 'cli' })
  return { people, caller: { key, scopes: key.scopes, address: '127.0.0.1' } }
}

async function measurePosts() {
  const { caller } = await setUp()
  const input = {
    action: 'Bench',
    context: {},
    requires_individual_decision: false,
    ttl_seconds: 86_400,
  }
  const started = performance.now()
  const asked = Array.from({ length: REQUESTS }, () => createRequest(service.deps, caller, input))
  await Promise.all(asked)
  while (teams.posts < PEOPLE * REQUESTS) await pause(10)
  return performance.now() - started
}

/** Past the work: a post, an edit, and the post of a process that has no token yet. */
async function measureHung() {
  const [{ port }] = service.chats
  const to = () => ({ platform: 'teams', tenant, user: randomUUID() })
  const { value: message } = await port.post(to(), MOVED)
  const { clock } = service.deps
  const conversations = createChatConversationStores(service.connection)
  const parts = { conversations, clock, log: silent, baseUrl: config.baseUrl }
  const { port: fresh } = createTeams(config.teams, parts)
  teams.hangs = () => true
  const timed = async (what, call) => {
    const started = performance.now()
    const answer = await call
    if (answer.ok || answer.outcome !== 'timeout') throw new Error(`${what}: ${JSON.stringify(answer)}`)
    return { what, ms: performance.now() - started }
  }
  return Promise.all([
    timed('a message', port.post(to(), MOVED)),
    timed('an edit', port.update(message, MOVED)),
    timed('a sign-in', fresh.post(to(), MOVED)),
  ])
}
