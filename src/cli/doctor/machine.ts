import { readFileSync, statfsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { findRunningStore } from 'embedded-mongo'
import { z } from 'zod'
import { descriptorLimit, descriptorsFor, waitsWithin } from '../../compose/descriptors.ts'
import { existingPart, othersIn, STORE_FILES, whyUnwritable } from '../../compose/open-store.ts'
import type { Config } from '../../config/config.ts'
import { packagePath } from '../../config/package-path.ts'
import { inShell, missingSecrets } from '../../config/secrets.ts'
import { type Check, fail, ok, warn } from './checks.ts'

const manifestSchema = z.object({ engines: z.object({ node: z.string().regex(/^>=\d+\.\d+$/) }) })

/** Checks whether this Node.js is new enough for the package. */
export function checkNode(version: string = process.versions.node): Check {
  const manifest: unknown = JSON.parse(readFileSync(packagePath('package.json'), 'utf8'))
  const wanted = manifestSchema.parse(manifest).engines.node.slice(2)
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [wantedMajor = 0, wantedMinor = 0] = wanted.split('.').map(Number)
  const enough = major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)
  return enough
    ? ok('Node.js', version)
    : fail('Node.js', `${version} is too old`, `Install Node.js ${wanted} or newer.`)
}

/** Files that only the service's own user may read. */
const PRIVATE_FILES = [...STORE_FILES, 'store.lock']

/** Checks whether others on this machine can look into the data directory. */
export async function checkDataDir(config: Config): Promise<Check> {
  const name = 'Data directory'
  const why = whyUnwritable(config.dataDir)
  if (why !== undefined && usesDataDir(config))
    return fail(
      name,
      why,
      'Set DATA_DIR to a folder that the user of the service may write, or give it that right.',
    )
  const mode = await modeOf(config.dataDir)
  if (mode === undefined) return ok(name, `${config.dataDir} will be made when it is needed`)
  if (process.platform === 'win32') return ok(name, config.dataDir)
  const open: string[] = []
  for (const file of PRIVATE_FILES) {
    const fileMode = await modeOf(join(config.dataDir, file))
    if (fileMode !== undefined && (fileMode & 0o077) !== 0) open.push(file)
  }
  if (open.length > 0) {
    const paths = open.map((file) => inShell(join(config.dataDir, file))).join(' ')
    return fail(name, `others can read ${open.join(', ')}`, `Run: chmod 600 ${paths}`)
  }
  if (!usesDataDir(config)) return ok(name, `${config.dataDir} is not used`)
  const others = othersIn(config.dataDir)
  if (others !== undefined) return warn(name, others, `Run: chmod 700 ${inShell(config.dataDir)}`)
  return ok(name, `${config.dataDir} is private`)
}

/** Checks whether the data directory is used: for the embedded store, or for secrets that the environment does not give. */
function usesDataDir(config: Config): boolean {
  return config.mongodbUri === undefined || missingSecrets(config).length > 0
}

/** Returns the mode of a file, undefined if there is none. */
export async function modeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).mode
  } catch {
    return undefined
  }
}

const MIB = 2 ** 20

/** Bytes free below which the next writes may fail, and below which somebody should look. */
const SPACE = { fail: 64 * MIB, warn: 1024 * MIB }

/** Checks whether the disk of the embedded store has room; empty if MongoDB holds the store. */
export function checkDisk({ mongodbUri, dataDir }: Config): Check[] {
  if (mongodbUri !== undefined) return []
  const { bavail, bsize } = statfsSync(existingPart(dataDir))
  return [judgeSpace(dataDir, bavail * bsize)]
}

/** @param free bytes free on the disk of the data directory */
export function judgeSpace(dataDir: string, free: number): Check {
  const detail = `${Math.floor(free / MIB)} MiB free for ${dataDir}`
  if (free >= SPACE.warn) return ok('Disk', detail)
  const fix = `Make room, or move ${dataDir} to a larger disk: on a full disk the service accepts no requests and no decisions.`
  return free < SPACE.fail ? fail('Disk', detail, fix) : warn('Disk', detail, fix)
}

/**
 * Compares the limit of open files with what the settings allow: the limit of the process that runs the embedded store, else of
 * this command. Empty where the system does not tell.
 */
export async function checkDescriptors({ mongodbUri, dataDir, maxOpenWaits }: Config): Promise<Check[]> {
  const running = mongodbUri === undefined ? await findRunningStore(dataDir) : undefined
  const limit = descriptorLimit(running?.pid)
  return limit === undefined ? [] : [judgeDescriptors(limit, maxOpenWaits)]
}

function judgeDescriptors(limit: number, maxOpenWaits: number): Check {
  const needed = descriptorsFor(maxOpenWaits)
  const detail = `a process may open ${limit === Number.POSITIVE_INFINITY ? 'any number' : limit}; MAX_OPEN_WAITS=${maxOpenWaits} needs ${needed} at most`
  if (limit >= needed) return ok('Descriptors', detail)
  const fix = `Raise the limit of open files (systemd: LimitNOFILE, Docker: ulimits, a shell: ulimit -n), or set MAX_OPEN_WAITS=${waitsWithin(limit)}.`
  return warn('Descriptors', detail, fix)
}
