import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Config, ConfigError, SECRET_NAMES } from '../../config/config.ts'
import { loadSecrets } from '../../config/secrets.ts'
import { type Check, fail, ok, warn } from './check.ts'

/** Files that only the service's own user may read. */
const PRIVATE_FILES = ['secrets.json', 'store.db', 'store.db-wal', 'store.lock']

/** Who else on this machine can look into the data directory? */
export async function checkDataDir(config: Config): Promise<Check> {
  const name = 'Data directory'
  const mode = await modeOf(config.dataDir)
  if (mode === undefined) return ok(name, `${config.dataDir} is made when it is needed`)
  if (process.platform === 'win32') return ok(name, config.dataDir)
  const open: string[] = []
  for (const file of PRIVATE_FILES) {
    const fileMode = await modeOf(join(config.dataDir, file))
    if (fileMode !== undefined && (fileMode & 0o077) !== 0) open.push(file)
  }
  if (open.length > 0) {
    const paths = open.map((file) => join(config.dataDir, file)).join(' ')
    return fail(name, `others can read ${open.join(', ')}`, `Run: chmod 600 ${paths}`)
  }
  if ((mode & 0o077) !== 0)
    return warn(name, `others can look into ${config.dataDir}`, `Run: chmod 700 ${config.dataDir}`)
  return ok(name, `${config.dataDir} is private`)
}

/** Are the secrets there and strong? None is made here. */
export async function checkSecrets(config: Config): Promise<Check> {
  const name = 'Secrets'
  const missing = SECRET_NAMES.filter((secret) => config.secrets[secret] === undefined)
  if (missing.length === 0) return ok(name, 'all from the environment')
  const path = join(config.dataDir, 'secrets.json')
  if ((await modeOf(path)) === undefined) return ok(name, `${path} is made at the first start`)
  try {
    await loadSecrets(config)
    return ok(name, `${missing.length} of ${SECRET_NAMES.length} from ${path}`)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const fix = `Restore ${path} from a backup: with other secrets every key and passkey is void.`
    return fail(name, error.problems.join('; '), fix)
  }
}

async function modeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).mode
  } catch {
    return undefined
  }
}
