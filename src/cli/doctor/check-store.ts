import { inspectStore, type StoreReport } from '../../compose/inspect-store.ts'
import { redact } from '../../compose/log.ts'
import { hasStore, storeHolder } from '../../compose/open-store.ts'
import type { Config } from '../../config/config.ts'
import { commandLog } from '../command-log.ts'
import { type Check, fail, ok, warn } from './check.ts'

/** Above this the service warns too (T75). */
const SKEW_WARNING_MS = 2_000

/** Does the store answer, is its clock ours, do the signing keys open? A store that does not exist yet is not made. */
export async function checkStore(config: Config): Promise<Check[]> {
  if (!hasStore(config))
    return [ok('Store', `the embedded store is made in ${config.dataDir} at the first start`)]
  try {
    const report = await inspectStore(config, commandLog(true))
    return [await reachable(config, report), clockCheck(report), keysCheck(report)]
  } catch (error) {
    const reason = String(redact(error instanceof Error ? error.message : String(error)))
    const fix =
      config.mongodbUri === undefined
        ? `Look at ${config.dataDir}: is the disk full, is it somebody else's?`
        : 'Check MONGODB_URI, and that the server runs and lets this user in.'
    return [fail('Store', reason, fix)]
  }
}

async function reachable(config: Config, { replicaSet }: StoreReport): Promise<Check> {
  if (config.mongodbUri === undefined) {
    const holder = await storeHolder(config.dataDir)
    const detail =
      holder === undefined ? 'opens; nobody is using it' : `answers; process ${holder.pid} runs it`
    if (!config.production) return ok('Store', `the embedded store ${detail}`)
    const fix = 'For more than one machine set MONGODB_URI to a replica set.'
    return warn('Store', `the embedded store ${detail}; it is meant for one machine`, fix)
  }
  if (replicaSet !== undefined) return ok('Store', `MONGODB_URI answers (replica set ${replicaSet})`)
  if (!config.production) return ok('Store', 'MONGODB_URI answers')
  return warn(
    'Store',
    'MONGODB_URI answers, but is no replica set',
    'Use a replica set: one server can lose data.',
  )
}

function clockCheck({ skewMs }: StoreReport): Check {
  const seconds = (Math.abs(skewMs) / 1000).toFixed(1)
  if (Math.abs(skewMs) <= SKEW_WARNING_MS) return ok('Clock', 'agrees with the store')
  const detail = `this machine is ${seconds} s ${skewMs > 0 ? 'behind' : 'ahead of'} the store`
  return warn('Clock', detail, 'Switch on time synchronisation (NTP) on both machines.')
}

function keysCheck({ keys }: StoreReport): Check {
  const name = 'Signing keys'
  if (keys instanceof Error) {
    const fix = 'Set SEALING_KEY to the value these keys were sealed with.'
    return fail(name, `cannot be opened: ${redact(keys.message)}`, fix)
  }
  const missing = keys.filter(({ active }) => active === undefined)
  if (missing.length === keys.length && keys.every(({ next }) => next === undefined))
    return ok(name, 'are made at the first start')
  if (missing.length > 0) {
    const purposes = missing.map(({ purpose }) => purpose)
    const fix = `Run: ${purposes.map((purpose) => `countersign keys rotate --purpose ${purpose} --now`).join(' && ')}`
    return fail(name, `none is active for ${purposes.join(', ')}`, fix)
  }
  const coming = keys.flatMap(({ purpose, next }) =>
    next ? [`next ${purpose} key ${next.toISOString()}`] : [],
  )
  return ok(name, ['active for every purpose', ...coming].join('; '))
}
