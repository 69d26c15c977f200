import type { Composition } from '../compose/compose.ts'
import { hasStore, openStore } from '../compose/open-store.ts'
import { type Config, loadConfig } from '../config/config.ts'
import { inShell } from '../config/secrets.ts'
import { shortNameFault } from '../domain/text-check.ts'
import { normaliseEmail, type User } from '../domain/user.ts'
import type { FlowDeps } from '../flow/deps.ts'
import { createRelay, NO_LOOPS } from '../flow/relay/relay.ts'
import { CliError, commandLog, readCount, usageError } from './terminal.ts'

interface CommandNeeds {
  /** The command may make a store, because it can run before the service was ever started. */
  fresh?: boolean
  /** The command changes nothing: the store's user needs no right to write. */
  reads?: boolean
  /** The command tells the store that secrets were changed on purpose. */
  newSecrets?: boolean
}

/**
 * Puts the service together, does the work and closes it again, on the store of a running service or one opened here.
 * @param work receives the data directory if a new store was made there
 * @throws CliError `no_store`, and what `compose` throws
 */
export async function withService<Result>(
  work: (deps: FlowDeps, newStore: string | undefined) => Promise<Result>,
  { fresh = false, reads = false, newSecrets = false }: CommandNeeds = {},
): Promise<Result> {
  const config = fresh ? loadConfig() : loadForStore()
  const newStore = hasStore(config) ? undefined : config.dataDir
  // The store opens in a thread of its own while this thread loads the rest.
  const log = commandLog()
  const store = openStore(config, true, log)
  store.catch(() => undefined)
  const { compose } = await import('../compose/compose.ts')
  const use = reads ? 'read' : 'write'
  const composition = await compose(config, { log, store, use, newSecrets })
  const carryOn = relayWrites(composition)
  try {
    return await work(composition.deps, newStore)
  } finally {
    // If this process opened the store itself, the service is stopped and carries on at its next start.
    if (!(await store).own) await carryOn()
    await composition.close()
  }
}

/**
 * Relays the command's writes, as a service does: the audit trail has them when the command returns, and a service finds the
 * deliveries due. @returns a function that relays, and leaves to a service whatever fails
 */
function relayWrites({ deps, onWritten }: Pick<Composition, 'deps' | 'onWritten'>): () => Promise<void> {
  const ignore = (): void => undefined
  const relay = createRelay(deps, NO_LOOPS)
  let wrote = false
  onWritten(() => {
    wrote = true
  })
  return async () => {
    if (wrote) await relay.run().catch(ignore)
  }
}

/**
 * Loads the configuration for a command about the contents of a store. If the service has another `DATA_DIR`, such a command
 * would otherwise make an empty store, and say that there is no user and that every record is in order.
 * @throws CliError `no_store`, and what `loadConfig` throws
 */
export function loadForStore(): Config {
  const config = loadConfig()
  if (hasStore(config)) return config
  const message = `There is no store in ${config.dataDir}. Set DATA_DIR to the directory of the service, or start the service here first: npm start`
  throw new CliError('no_store', message)
}

/** Finds the person with this address. @throws CliError */
export async function findPerson(deps: Pick<FlowDeps, 'users'>, address: string): Promise<User> {
  const email = checkEmail(address)
  const user = await deps.users.findByEmail(email)
  if (user === undefined)
    throw new CliError(
      'user_not_found',
      `No user has the address ${email}; make an account with: countersign user invite ${inShell(email)}`,
    )
  return user
}

/** Says that an invited person has made no account, to which something of an account could be done. */
export function noAccountWords(email: string): string {
  return `${email} has no account of their own: they were invited into another. They make one on the dashboard, under Account.`
}

/** Returns the ids of the accounts that a list is about: the one of this person, or all. @throws CliError */
export async function accountsOf(
  deps: Pick<FlowDeps, 'users'>,
  owner: string | undefined,
): Promise<Set<string>> {
  const people = owner === undefined ? await deps.users.list() : [await findPerson(deps, owner)]
  return new Set(people.map(({ account_id }) => account_id))
}

/** Returns the address in its normalised spelling. @throws CliError */
export function checkEmail(address: string): string {
  const email = normaliseEmail(address)
  if (email === undefined) throw usageError(`${JSON.stringify(address)} is not an e-mail address.`)
  return email
}

/** Returns the name trimmed, if the service accepts it. @throws CliError */
export function checkName(text: string): string {
  const name = text.trim()
  const fault = name === '' ? 'must not be empty' : shortNameFault(name)
  if (fault !== undefined) throw usageError(`The name ${fault}.`)
  return name
}

/** The options of a list that comes in pages. */
export interface PageOptions {
  limit?: string
  after?: string
}

const PAGE = '50'
const LONGEST_PAGE = 1_000

/** @throws CliError */
export function readPage({ limit = PAGE, after }: PageOptions): {
  limit: number
  after: string | undefined
} {
  return { limit: readCount('--limit', limit, LONGEST_PAGE), after }
}
