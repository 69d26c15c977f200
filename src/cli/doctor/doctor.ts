import { existsSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { findRunningStore } from 'embedded-mongo'
import { z } from 'zod'
import { composeWitnesses } from '../../compose/compose-witnesses.ts'
import { inspectHold, inspectStore, type StoreReport } from '../../compose/inspect-store.ts'
import { checkPlace, ListenError } from '../../compose/listen.ts'
import { hasStore, whyUnwritable } from '../../compose/open-store.ts'
import { type Config, ConfigError, SECRET_NAMES } from '../../config/config.ts'
import { packagePath } from '../../config/package-path.ts'
import { loadSecrets, missingSecrets, otherSetting, refuseLostStore } from '../../config/secrets.ts'
import { visibleString } from '../../domain/text.ts'
import type { WitnessOfLog } from '../../flow/audit/read-log.ts'
import { SKEW_WARNING_MS } from '../../store/clock.ts'
import { describeWitness, howToRenew, setAside } from '../restore.ts'
import type { CommandResult } from '../terminal.ts'
import {
  type Check,
  checkConfiguration,
  fail,
  ok,
  reasonOf,
  reportChecks,
  TIMEOUT_MS,
  warn,
} from './checks.ts'
import { checkDataDir, checkDescriptors, checkDisk, checkNode, modeOf } from './machine.ts'

/** `countersign doctor`: checks the installation, changes nothing, and says what to do. */
export async function runDoctor(): Promise<CommandResult> {
  return reportChecks(await examine())
}

async function examine(): Promise<Check[]> {
  const { config, checks } = checkConfiguration()
  const always = [checkNode(), checkPages(), ...checks]
  if (config === undefined) return always
  return [
    ...always,
    await checkDataDir(config),
    ...checkDisk(config),
    ...(await checkDescriptors(config)),
    ...(await checkSecrets(config)),
    ...(await checkStore(config)),
    ...(await checkWitnesses(config)),
    checkBaseUrl(config),
    ...(await checkMetadata(config)),
    ...(await checkPorts(config)),
    await checkAnswer(config),
  ]
}

/** Checks whether the hosted pages and the OpenAPI document exist. */
function checkPages(): Check {
  const parts = ['dist/webauthn-page/index.html', 'dist/dashboard/index.html', 'openapi.json']
  const missing = parts.filter((path) => !existsSync(packagePath(path)))
  return missing.length === 0
    ? ok('Pages', 'built')
    : fail('Pages', `missing: ${missing.join(', ')}`, 'Run: npm run build && npm run openapi')
}

/** Checks whether the secrets exist and are strong; makes none. Empty if only the signing keys tell whether there must be some. */
async function checkSecrets(config: Config): Promise<Check[]> {
  const name = 'Secrets'
  const missing = missingSecrets(config)
  if (missing.length === 0) return [ok(name, 'all from the environment')]
  const path = join(config.dataDir, 'secrets.json')
  if (whyUnwritable(config.dataDir) !== undefined) return [warn(name, `${path} cannot be used`, UNWRITABLE)]
  if ((await modeOf(path)) === undefined)
    return hasStore(config) ? [] : [ok(name, `${path} will be made at the first start`)]
  try {
    await loadSecrets(config, false)
    return [ok(name, `${missing.length} of ${SECRET_NAMES.length} from ${path}`)]
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const fix = `Restore ${path} from a backup: with other secrets every key and passkey is void.`
    return [fail(name, error.problems.join('; '), fix)]
  }
}

const UNWRITABLE = 'See the line about the data directory.'

/** Checks whether the store answers, its clock agrees with ours, and the signing keys open. Makes no store. */
async function checkStore(config: Config): Promise<Check[]> {
  if (config.mongodbUri === undefined && whyUnwritable(config.dataDir) !== undefined)
    return [warn('Store', `not checked in ${config.dataDir}`, UNWRITABLE)]
  try {
    if (!hasStore(config)) {
      refuseLostStore(config)
      return [ok('Store', `the embedded store will be made in ${config.dataDir} at the first start`)]
    }
    const report = await inspectStore(config)
    return [
      await reachable(config, report),
      clockCheck(report),
      keysCheck(report),
      ...changedChecks(report),
      ...trailChecks(report),
      ...logChecks(report),
      ...(await checkHold(config)),
    ]
  } catch (error) {
    const why = reasonOf(error)
    return [fail('Store', why, config.mongodbUri === undefined ? embeddedFix(why) : CHECK_URI)]
  }
}

const CHECK_URI = 'Check MONGODB_URI, and that the server runs and accepts this user.'

/** A backup brings back what was revoked or used since, so it is advised for damage only. Each message says what to do. */
function embeddedFix(why: string): string {
  return /\bis (?:damaged|missing)\b/.test(why)
    ? 'docs/deploy.md says how to restore a backup of the embedded store.'
    : 'Follow these steps; do not restore a backup: used approvals and revoked keys would be valid again.'
}

async function reachable(config: Config, { server }: StoreReport): Promise<Check> {
  if (config.mongodbUri === undefined) {
    const holder = await findRunningStore(config.dataDir)
    const detail =
      holder === undefined ? 'opens; no process is using it' : `answers; process ${holder.pid} runs it`
    return ok('Store', `the embedded store ${detail}`)
  }
  const { kind, name, version = 'of no known version' } = server
  if (kind === 'replica set')
    return ok('Store', `MONGODB_URI answers (replica set ${name}, MongoDB ${version})`)
  if (kind === 'mongos') return ok('Store', `MONGODB_URI answers (mongos, MongoDB ${version})`)
  if (!config.production) return ok('Store', 'MONGODB_URI answers')
  return warn(
    'Store',
    'MONGODB_URI answers, but is not a replica set',
    'Use a replica set: a single server can lose data.',
  )
}

function clockCheck({ skewMs }: StoreReport): Check {
  const seconds = (Math.abs(skewMs) / 1000).toFixed(1)
  if (Math.abs(skewMs) <= SKEW_WARNING_MS) return ok('Clock', 'agrees with the store')
  const detail = `this machine is ${seconds} s ${skewMs > 0 ? 'behind' : 'ahead of'} the store`
  return warn('Clock', detail, 'Switch on time synchronisation (NTP) on both machines.')
}

/** Before the last sentences of a message, which say what to do. */
const ADVICE = /(?<=\.) (?=(?:Set|If|Copy|Restore) .*$)/

function keysCheck({ keys }: StoreReport): Check {
  const name = 'Signing keys'
  if (keys instanceof Error) {
    // What to do depends on the cause, and is the end of its own message.
    const [why, fix = 'See the lines about the secrets and the store.'] = reasonOf(keys).split(ADVICE, 2)
    return fail(name, `cannot be opened: ${why}`, fix)
  }
  const missing = keys.filter(({ active }) => active === undefined)
  if (missing.length === keys.length && keys.every(({ next }) => next === undefined))
    return ok(name, 'will be made at the first start')
  if (missing.length > 0) {
    const purposes = missing.map(({ purpose }) => purpose)
    const fix = `Run: ${purposes.map((purpose) => `countersign signing-keys rotate --purpose ${purpose} --now`).join(' && ')}`
    return fail(name, `none is active for ${purposes.join(', ')}`, fix)
  }
  const coming = keys.flatMap(({ purpose, next }) =>
    next ? [`next ${purpose} key ${next.toISOString()}`] : [],
  )
  return ok(name, ['active for every purpose', ...coming].join('; '))
}

function changedChecks({ changed }: StoreReport): Check[] {
  return changed.map((name) => {
    const [what = '', fix = ''] = otherSetting(name).split(/(?<=\.) (?=Set )/)
    const detail = what.slice(name.length + 2)
    return name === 'BASE_URL' ? warn(name, detail, fix) : fail(name, detail, fix)
  })
}

/** Reports an audit trail that takes no entries; empty if it does. */
function trailChecks({ trail }: StoreReport): Check[] {
  if (trail === undefined) return []
  const fix =
    'Run: countersign audit check. docs/deploy.md says how to restore a backup of the embedded store.'
  return [fail('Audit trail', reasonOf(trail), fix)]
}

/** Reports how far the log is; empty while there is none. */
function logChecks({ log }: StoreReport): Check[] {
  if (log === undefined) return []
  const { origin, size, behind, signed_at, rolled_back, witnesses } = log
  if (!rolled_back) {
    const since = signed_at === undefined ? 'no checkpoint yet' : `last checkpoint ${signed_at.toISOString()}`
    const line = ok('Log', `${size} records, ${behind} not in it yet; ${since}`)
    return [line, ...witnesses.map(witnessCheck)]
  }
  const detail = `log_rolled_back: the store was restored, or others hold a larger checkpoint of ${origin}; it signs nothing more`
  return [fail('Log', detail, howToRenew(log))]
}

function witnessCheck(witness: WitnessOfLog): Check {
  const { name, url, failing } = witness
  const detail = `${name}: ${describeWitness(witness)}`
  if (failing === undefined) return ok('Witness', detail)
  const fix = failing.why.startsWith('blocked')
    ? 'Correct its URL in LOG_WITNESSES, or set CALLBACK_ALLOW_PRIVATE=1 for a trial. Once that is done, ask its operator: docs/witness.md'
    : `Ask its operator whether it runs at ${url} and knows this log: docs/witness.md`
  return warn('Witness', detail, fix)
}

/** Checks whether a service would start with these witnesses; says nothing of good ones. */
async function checkWitnesses(config: Config): Promise<Check[]> {
  try {
    await composeWitnesses(config)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return [fail('Witness', error.problems.join('; '), 'Correct LOG_WITNESSES: docs/witness.md says how.')]
  }
}

/** Keys and people named one by one. */
const NAMED = 20

/** Reports what is held after a restore, and what its operator may have to take away again; empty if nothing is held. */
async function checkHold(config: Config): Promise<Check[]> {
  const hold = await inspectHold(config)
  if (hold === undefined) return []
  const { restore, pending, approved, set_aside, keys, people } = hold
  const started = restore.restored_at !== undefined
  const copy = `${started ? 'restored from' : 'not started yet:'} a copy of ${restore.copied_at.toISOString()}`
  const detail = `${copy}; ${pending} pending requests and ${approved} unused approvals of that copy ${started ? `are held; set aside: ${setAside(set_aside)}` : 'will be held'}`
  const again = [
    ...keys.map(({ id, name }) => `countersign key revoke ${id}   (${visibleString(name)})`),
    ...people.map((email) => `countersign user reset ${email}`),
  ]
  const fix = [
    'Do again what was done since the copy, which this store cannot know. Of these, whatever was revoked or reset since:',
    ...again.slice(0, NAMED).map((line) => `  ${line}`),
    ...(again.length > NAMED
      ? [`  … and ${again.length - NAMED} more: countersign key list, countersign user list`]
      : []),
    'Also passkeys that people removed, webhook secrets, policies and signing keys (docs/deploy.md). Then: countersign restore confirm',
  ]
  return [warn('Restore', detail, fix.join('\n'))]
}

const readyAnswer = z.object({ status: z.literal('ready') })
const brokenAnswer = z.object({ error: z.literal('storage_unavailable') })

/** In production, and wherever TRUST_PROXY counts one, a proxy is between people and PORT. */
function isBehindProxy({ production, trustProxy }: Pick<Config, 'production' | 'trustProxy'>): boolean {
  return production || trustProxy !== 0
}

/** Checks whether BASE_URL can be the address that people and callers use. */
function checkBaseUrl(config: Config): Check {
  const name = 'BASE_URL'
  const url = new URL(config.baseUrl)
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
  if (url.hostname !== 'localhost') return ok(name, config.baseUrl)
  if (port !== config.port) {
    if (isBehindProxy(config))
      return ok(name, `${config.baseUrl} (a proxy on this machine leads to PORT ${config.port})`)
    const fix = `Leave BASE_URL out, or set it to http://localhost:${config.port}.`
    return warn(name, `${config.baseUrl} names a port other than PORT (${config.port})`, fix)
  }
  return ok(name, `${config.baseUrl} (this machine only)`)
}

/** Checks whether the service would take the metadata of authenticators; empty if there is to be none. */
async function checkMetadata({ authenticators: { file, rootsFile } }: Config): Promise<Check[]> {
  const name = 'FIDO metadata'
  if (file === undefined) return []
  // The library that knows the roots is loaded only for them.
  const { readAuthenticatorModels } = await import('../../flow/people/authenticator-models.ts')
  const warnings: Check[] = []
  const log = { warn: () => void warnings.push(warn(name, `${file} is outdated`, 'Download a newer file.')) }
  try {
    await readAuthenticatorModels({ file, rootsFile }, { now: () => new Date() }, log)
    return warnings.length > 0 ? warnings : [ok(name, `${file} has a valid signature`)]
  } catch (error) {
    const fix = 'Download the file from https://mds3.fidoalliance.org, or unset FIDO_METADATA_FILE.'
    return [fail(name, `FIDO_METADATA_FILE: cannot be used: ${reasonOf(error)}`, fix)]
  }
}

/** Checks whether the service may listen on its ports; empty if it already does. */
async function checkPorts({ host, port, metricsPort }: Config): Promise<Check[]> {
  const checks = [await checkPort('Port', { setting: 'PORT', host, port })]
  if (metricsPort !== undefined)
    checks.push(await checkPort('Metrics port', { setting: 'METRICS_PORT', host, port: metricsPort }))
  // Perhaps only the service, and not this command, has the right to a port below 1024.
  const failed = checks.some(({ status }) => status === 'fail')
  return failed && (await isService(host, port)) ? [] : checks
}

async function checkPort(name: string, place: Parameters<typeof checkPlace>[0]): Promise<Check> {
  try {
    await checkPlace(place)
    return ok(name, `${place.port} of ${place.host} is free`)
  } catch (error) {
    if (!(error instanceof ListenError)) throw error
    const [detail = '', fix = ''] = error.message.split('; ')
    return fail(name, detail, fix)
  }
}

async function isService(host: string, port: number): Promise<boolean> {
  const local = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  const address = `http://${isIP(local) === 6 ? `[${local}]` : local}:${port}/readyz`
  const body: unknown = await fetch(address, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    .then((response) => response.json())
    .catch(() => undefined)
  return readyAnswer.safeParse(body).success || brokenAnswer.safeParse(body).success
}

/** Checks whether a Countersign service answers at BASE_URL, and is ready. */
async function checkAnswer(config: Config): Promise<Check> {
  const name = 'Service'
  const address = `${config.baseUrl}/readyz`
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const response = await fetch(address, { redirect: 'manual', signal })
    const body: unknown = await response.json().catch(() => undefined)
    if (response.status === 200 && readyAnswer.safeParse(body).success)
      return (await usesOurStore(config))
        ? ok(name, `answers at ${config.baseUrl} and is ready`)
        : warn(
            name,
            `the service at ${config.baseUrl} uses another store`,
            'Set DATA_DIR or MONGODB_URI to the values of that service.',
          )
    if (response.status === 503 && brokenAnswer.safeParse(body).success)
      return fail(name, 'answers, but its store does not', 'See the lines about the store, and its log.')
    const fix = 'Make BASE_URL lead to this service: check the proxy, or choose another PORT.'
    return fail(name, `something else answers at ${address} (${response.status})`, fix)
  } catch (error) {
    return noAnswer(config, error)
  }
}

/** A service on this embedded store would hold its directory. Of a MongoDB nobody can tell who else uses it. */
async function usesOurStore({ mongodbUri, dataDir }: Config): Promise<boolean> {
  return mongodbUri !== undefined || (await findRunningStore(dataDir)) !== undefined
}

/** Explains why fetch got no answer. */
function noAnswer({ baseUrl, ...config }: Config, error: unknown): Check {
  const told = (why: string, fix: string) => warn('Service', `nothing answers at ${baseUrl}: ${why}`, fix)
  const { hostname } = new URL(baseUrl)
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return told(`the name ${hostname} is not found`, 'Correct BASE_URL, or add that name to DNS.')
  if (/CERT|SIGNATURE|ISSUER|_TLS_/.test(code)) {
    const fix = `Give the proxy a certificate for ${hostname} that browsers trust; NODE_EXTRA_CA_CERTS in the environment, not in .env, names your own authority.`
    return told(`its certificate is not trusted (${code})`, fix)
  }
  const direct = hostname === 'localhost' && !isBehindProxy(config)
  const fix = direct ? '' : ` If it runs, let the proxy at ${hostname} forward to it.`
  const why = code === 'ECONNREFUSED' ? 'the connection is refused' : reasonOf(cause)
  return told(why, `If it should run, start it: npm start${fix && `.${fix}`}`)
}
