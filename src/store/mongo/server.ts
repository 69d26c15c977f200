import type mongoose from 'mongoose'
import { redact } from '../../domain/redact.ts'
import { diskTrouble, isUnavailable } from './failures.ts'

/** The store cannot serve this service; the message says what to do. */
export class UnsuitableStoreError extends Error {
  override readonly name = 'UnsuitableStoreError'
}

/** The store did not answer when it was opened; the message says what to do. */
class StoreUnreachableError extends Error {
  override readonly name = 'StoreUnreachableError'
}

/** No service ever ran on the store that is to be read. */
export class EmptyStoreError extends Error {
  override readonly name = 'EmptyStoreError'

  constructor({ mongodbUri, dataDir }: { mongodbUri: string | undefined; dataDir: string }) {
    const which =
      mongodbUri === undefined
        ? `The store in ${dataDir} is empty. Check DATA_DIR`
        : 'The database is empty. Check its name in MONGODB_URI'
    super(`${which}, or start the service there first: npm start`)
  }
}

/** The oldest MongoDB that will do: since this version, partial indexes accept `$in`, which the queues need. */
const OLDEST_MAJOR = 6

/** A store's description of itself. */
export interface Server {
  kind: 'embedded store' | 'replica set' | 'mongos' | 'single server'
  /** Name of the replica set; undefined for other kinds. */
  name: string | undefined
  /** Version of MongoDB, or as claimed by a service that speaks its protocol; undefined when the store does not tell. */
  version: string | undefined
}

/** Reads the kind of store from its answer to `hello`. */
function readKind(hello: object): Pick<Server, 'kind' | 'name'> {
  const { embeddedStore, msg, setName }: Record<string, unknown> = { ...hello }
  if (typeof setName === 'string') return { kind: 'replica set', name: setName }
  if (msg === 'isdbgrid') return { kind: 'mongos', name: undefined }
  return { kind: embeddedStore === undefined ? 'single server' : 'embedded store', name: undefined }
}

/**
 * Asks the store for its kind and version.
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
    const wanted = `Countersign needs MongoDB ${OLDEST_MAJOR}.0 or newer, or a compatible service`
    throw new UnsuitableStoreError(`The store is MongoDB ${version}. ${wanted}.`)
  }
  return { ...readKind(hello), version }
}

function unlessAway(error: unknown): undefined {
  if (isUnavailable(error)) throw error
}

/** Why a server refuses something the service cannot do without, by error code. */
const REFUSED: Readonly<Record<number, string>> = {
  13: 'does not give this user enough rights: grant it the role readWrite on the database',
  18: 'refuses this user: check user, password and authSource in MONGODB_URI',
  20: 'does not support retryable writes: use a replica set, or add retryWrites=false to MONGODB_URI',
  79: 'does not support writes acknowledged by a majority: use a replica set',
  8000: 'refuses this user: check user, password and authSource in MONGODB_URI',
}

/** The driver's error names for an address that it cannot use. */
const BAD_ADDRESS = [
  'MongoParseError',
  'MongoRuntimeError',
  'MongoInvalidArgumentError',
  'MongoMissingCredentialsError',
]

/** Recognises a failed DNS query: the name in a `mongodb+srv:` address is resolved before any server is asked. */
function isNameServerTrouble(error: Error): boolean {
  return 'syscall' in error && /^query(?:Srv|Txt)$/.test(String(error.syscall))
}

/**
 * Words an error of the embedded store. If that runs in this process and is slow, the machine is the cause; a running service may
 * also be stopped or hang. A word of MongoDB would mislead.
 */
export function embeddedInWords(error: unknown, own: boolean): unknown {
  if (!(error instanceof Error) || !isUnavailable(error) || diskTrouble(error) !== undefined) return error
  const advice = own
    ? 'The machine is very busy, or its disk very slow: start again, or increase STORE_TIMEOUT_MS'
    : 'The service that runs it does not respond, or the machine is very busy: try again, or restart the service'
  const { message } =
    error instanceof StoreUnreachableError && error.cause instanceof Error ? error.cause : error
  return new StoreUnreachableError(
    `The embedded store did not answer in time: ${message.replace(/\.$/, '')}. ${advice}.`,
    {
      cause: error,
    },
  )
}

/** Turns an error that kept a store from being opened into a sentence for the operator; returns other errors unchanged. */
export function inWords(error: unknown): unknown {
  if (
    !(error instanceof Error) ||
    error instanceof UnsuitableStoreError ||
    error instanceof StoreUnreachableError
  )
    return error
  const reason = String(redact(error.message)).replace(/\.$/, '')
  // The driver replaces this refusal by an error of its own, without a code.
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
