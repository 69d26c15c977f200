import { loadConfig } from '../config/config.ts'
import type { FlowDeps } from '../flow/deps.ts'
import { inviteUser } from '../flow/joining/invite-user.ts'
import { createApiKey } from '../flow/keys/manage-api-keys.ts'
import { cancelRequest } from '../flow/requests/cancel-request.ts'
import { consumeRequest } from '../flow/requests/consume-request.ts'
import { createRequest } from '../flow/requests/create-request.ts'
import { readOwnRequest } from '../flow/requests/read-request.ts'
import { CliError, type CommandResult, table } from './terminal.ts'
import { withService } from './with-service.ts'

/** The people of the demonstration; each has an account of their own. */
const PEOPLE = [
  { email: 'ann@example.com', name: 'Ann Archer' },
  { email: 'ben@example.com', name: 'Ben Baker' },
]

/** A request of the demonstration; `ago` in minutes. */
interface Sample {
  action: string
  context: Record<string, unknown>
  ago: number
  becomes: 'pending' | 'approved' | 'consumed' | 'rejected' | 'expired' | 'withdrawn'
}

const SAMPLES: readonly Sample[] = [
  {
    action: 'Pay $120.00 to ACME Corp, invoice 4711',
    context: { reason: 'Due today' },
    ago: 300,
    becomes: 'consumed',
  },
  {
    action: 'Delete the staging database',
    context: { tool: 'drop_database' },
    ago: 240,
    becomes: 'rejected',
  },
  {
    action: 'Send the newsletter to 40,000 people',
    context: { reason: 'Weekly' },
    ago: 180,
    becomes: 'expired',
  },
  { action: 'Rotate the TLS certificate of example.com', context: {}, ago: 120, becomes: 'withdrawn' },
  { action: 'Merge pull request 314 to main', context: { source: 'git' }, ago: 30, becomes: 'approved' },
  { action: 'Deploy release 4.2 to production', context: { tool: 'deploy' }, ago: 2, becomes: 'pending' },
]

/**
 * `countersign demo`: fills a new development store with people, keys and requests in every state. They are dry runs, as only a
 * person can decide others. @throws CliError in production, and where somebody already is
 */
export function runDemo(): Promise<CommandResult> {
  const { production, mongodbUri } = loadConfig()
  if (production || mongodbUri !== undefined)
    throw new CliError(
      'production',
      'A demonstration has no place in production; unset NODE_ENV and MONGODB_URI, and set another DATA_DIR.',
    )
  return withService(
    async (deps) => {
      if (await deps.users.any())
        throw new CliError('not_empty', 'The store already has people; set DATA_DIR to a new folder.')
      const people = []
      for (const person of PEOPLE) people.push(await addPerson(deps, person))
      const told = people.map(({ email, url, raw_key }) => [email, url, raw_key])
      return {
        value: { people, requests: people.length * SAMPLES.length },
        text: `${table(['PERSON', 'ONE-TIME SIGN-IN LINK', 'SANDBOX KEY'], told)}\n\nEach has ${SAMPLES.length} requests; see: countersign requests list. To look around: npm start`,
      }
    },
    { fresh: true },
  )
}

async function addPerson(deps: FlowDeps, person: (typeof PEOPLE)[number]) {
  const { user, link } = await inviteUser(deps, person, { kind: 'cli' })
  const wanted = { accountId: user.account_id, name: 'deploy-bot', sandbox: true, source_control: false }
  const { raw_key, key } = await createApiKey(deps, wanted, { kind: 'cli' })
  const caller = { key, scopes: key.scopes, address: '127.0.0.1' }
  for (const sample of SAMPLES) await addRequest(deps, caller, sample)
  return { user_id: user.id, email: user.email, url: link.url, raw_key }
}

type Caller = Parameters<typeof createRequest>[1]

/** Makes it at its time in the past, and lets it go its usual way. */
async function addRequest(
  deps: FlowDeps,
  caller: Caller,
  { action, context, ago, becomes }: Sample,
): Promise<void> {
  const shift = ago * 60_000
  const then = { ...deps.clock, now: () => new Date(deps.clock.now().getTime() - shift) }
  const input = {
    action,
    context,
    requires_individual_decision: false,
    // Those that go on live until now, and those that expire have long done so.
    ttl_seconds: becomes === 'expired' ? 60 : 86_400,
    sandbox_decision: becomes === 'rejected' ? ('rejected' as const) : ('approved' as const),
    sandbox_auto_decide_seconds: becomes === 'pending' ? 3_600 : 1,
  }
  const { request } = await createRequest({ ...deps, clock: then }, caller, input)
  if (becomes === 'withdrawn') await cancelRequest({ ...deps, clock: then }, caller, request.id)
  else if (becomes !== 'pending') await readOwnRequest(deps, caller, request.id)
  if (becomes === 'consumed') await consumeRequest(deps, caller, request.id, { key: undefined })
}
