import type mongoose from 'mongoose'
import { redact } from '../domain/redact.ts'
import { diskTrouble, isUnavailable } from './failures.ts'

/** The store is no store for this service; the message says what to do. */
export class UnsuitableStoreError extends Error {
  override readonly name = 'UnsuitableStoreError'
}

/** The store did not answer when it was opened; the message says what to do. */
class StoreUnreachableError extends Error {
  override readonly name = 'StoreUnreachableError'
}

/** The oldest MongoDB that will do: partial indexes take `$in`, on which the queues lean, since then. */
const OLDEST_MAJOR = 6

/** What a store says it is. */
export interface Server {
  kind: 'embedded store' | 'replica set' | 'mongos' | 'single server'
  /** Of a replica set. */
  name: string | undefined
  /** MongoDB's, or that of the service which speaks its protocol; undefined when it does not tell. */
  version: string | undefined
}

/** What the store's answer to `hello` says about it. */
function readKind(hello: object): Pick<Server, 'kind' | 'name'> {
  const { embeddedStore, msg, setName }: Record<string, unknown> = { ...hello }
  if (typeof setName === 'string') return { kind: 'replica set', name: setName }
  if (msg === 'isdbgrid') return { kind: 'mongos', name: undefined }
  return { kind: embeddedStore === undefined ? 'single server' : 'embedded store', name: undefined }
}

/**
 * Asks the store who it is.
 * @throws UnsuitableStoreError when it is too old
 */
export async function checkServer(connection: mongoose.Connection): Promise<Server> {
  const admin = connection.getClient().db().admin()
  const [hello, build] = await Promise.all([
    admin.command({ hello: 1 }),
    admin.command({ buildInfo: 1 }).catch(unlessAway),
  ])
  const version = typeof build?.version === 'string' ? build.version : undefined
  if (Number.parseInt(version ?? '', 10) < OLDEST_MAJOR) {
    const wanted = `Countersign needs MongoDB ${OLDEST_MAJOR}.0 or newer, or a service that is its equal`
    throw new UnsuitableStoreError(`The store is MongoDB ${version}. ${wanted}.`)
  }
  return { ...readKind(hello), version }
}

function unlessAway(error: unknown): undefined {
  if (isUnavailable(error)) throw error
}

/** Why a server refuses what the service cannot do without, by its code. */
const REFUSED: Readonly<Record<number, string>> = {
  13: 'does not let this user do what is needed: give it the role readWrite on the database',
  18: 'does not let this user in: check user, password and authSource in MONGODB_URI',
  20: 'takes no retryable writes: use a replica set, or add retryWrites=false to MONGODB_URI',
  79: 'knows no majority, by which the service has its writes acknowledged: use a replica set',
  8000: 'does not let this user in: check user, password and authSource in MONGODB_URI',
}

/** The driver's names for an address that it cannot use. */
const BAD_ADDRESS = [
  'MongoParseError',
  'MongoRuntimeError',
  'MongoInvalidArgumentError',
  'MongoMissingCredentialsError',
]

/** The name in a `mongodb+srv:` address is asked for before any server is. */
function isNameServerTrouble(error: Error): boolean {
  return 'syscall' in error && /^query(?:Srv|Txt)$/.test(String(error.syscall))
}

/** Of the embedded store, which runs in this process: that it takes long is the machine's doing. */
export function ownInWords(error: unknown): unknown {
  if (!(error instanceof Error) || !isUnavailable(error) || diskTrouble(error) !== undefined) return error
  const advice =
    'The machine is very busy, or its disk very slow: start again, or set STORE_TIMEOUT_MS higher'
  const { message } =
    error instanceof StoreUnreachableError && error.cause instanceof Error ? error.cause : error
  return new StoreUnreachableError(
    `The embedded store did not answer in time: ${message.replace(/\.$/, '')}. ${advice}.`,
    {
      cause: error,
    },
  )
}

/** What kept a store from being opened, as a sentence for the operator; any other error as it is. */
export function inWords(error: unknown): unknown {
  if (
    !(error instanceof Error) ||
    error instanceof UnsuitableStoreError ||
    error instanceof StoreUnreachableError
  )
    return error
  const reason = String(redact(error.message)).replace(/\.$/, '')
  // The driver puts its own words in the place of this refusal, without a code.
  const code = /retryable writes/.test(reason) ? 20 : 'code' in error ? Number(error.code) : 0
  const refused = REFUSED[code]
  if (refused !== undefined)
    return new UnsuitableStoreError(`The store ${refused} (${reason}).`, { cause: error })
  if (isUnavailable(error) || isNameServerTrouble(error)) {
    const advice = 'Check MONGODB_URI, and that the server runs; of a replica set, most members'
    return new StoreUnreachableError(`The store does not answer: ${reason}. ${advice}.`, { cause: error })
  }
  if (BAD_ADDRESS.includes(error.name))
    return new UnsuitableStoreError(`MONGODB_URI cannot be used: ${reason}.`, { cause: error })
  if (error.name === 'MongoCompatibilityError')
    return new UnsuitableStoreError(`The store is too old: ${reason}.`, { cause: error })
  return error
}
