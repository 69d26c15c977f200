import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { Invalid } from '../src/errors.ts'

/** A service, and a key of it. */
export interface Credentials {
  url: string
  key: string
}

/** The file that `login` writes, readable for its owner only. @throws Invalid */
function credentialsPath(env: NodeJS.ProcessEnv = process.env): string {
  if (env.COUNTERSIGN_CREDENTIALS) return env.COUNTERSIGN_CREDENTIALS
  const own = env.XDG_CONFIG_HOME ?? ''
  const folder = isAbsolute(own) ? own : join(homedir(), '.config')
  // A relative path would lead into the current folder, where the agent may put a service and a key of its own.
  if (!isAbsolute(folder)) throw new Invalid('HOME is empty. Set it, or COUNTERSIGN_URL and COUNTERSIGN_KEY.')
  return join(folder, 'countersign', 'credentials.json')
}

/** Reads COUNTERSIGN_URL and COUNTERSIGN_KEY, else what `login` saved. @throws Invalid, which says what to do */
export function readCredentials(env: NodeJS.ProcessEnv = process.env): Credentials {
  const { COUNTERSIGN_URL: url, COUNTERSIGN_KEY: key } = env
  if (url && key) return { url, key }
  if (url || key) throw new Invalid(`set ${url ? 'COUNTERSIGN_KEY' : 'COUNTERSIGN_URL'} as well.`)
  const path = credentialsPath(env)
  const saved = readSaved(path)
  if (saved === undefined)
    throw new Invalid('set COUNTERSIGN_URL and COUNTERSIGN_KEY, or run: countersign login')
  return saved
}

function readSaved(path: string): Credentials | undefined {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode
  if (mode === undefined) return undefined
  // Windows has no such bits; its profile folders are private.
  if (process.platform !== 'win32' && mode & 0o077)
    throw new Invalid(
      `other users can read ${path}. Make it private, and have the key replaced: chmod 600 ${path}`,
    )
  try {
    const { url, key }: Partial<Record<'url' | 'key', unknown>> = Object(
      JSON.parse(readFileSync(path, 'utf8')),
    )
    if (typeof url === 'string' && typeof key === 'string') return { url, key }
  } catch {
    // No JSON: said below.
  }
  throw new Invalid(`${path} holds no credentials. Run: countersign login`)
}

/** Saves what `readCredentials` then finds. @returns where */
export function saveCredentials({ url, key }: Credentials): string {
  const path = credentialsPath()
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeWhole(path, `${JSON.stringify({ url, key })}\n`, 0o600)
  return path
}

/** @returns what was removed, undefined if nothing was saved */
export function forgetCredentials(): string | undefined {
  const path = credentialsPath()
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined
  rmSync(path)
  return path
}

/** Writes a file so that a reader finds the old text or the new one, and nobody else the new one before its mode is set. */
export function writeWhole(path: string, text: string, mode?: number): void {
  const there = statSync(path, { throwIfNoEntry: false })
  // A link stays one.
  const target = there ? realpathSync(path) : path
  const written = `${target}.${randomUUID()}.new`
  try {
    writeFileSync(written, text, { mode: 0o600, flag: 'wx' })
    chmodSync(written, mode ?? (there ? there.mode & 0o777 : 0o644))
    renameSync(written, target)
  } finally {
    rmSync(written, { force: true })
  }
}
