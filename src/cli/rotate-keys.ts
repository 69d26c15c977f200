import { KEY_PURPOSES } from '../flow/keep-keys.ts'
import type { KeyPurpose, SigningKey } from '../signing/keys.ts'
import type { CommandResult } from './terminal.ts'
import { table, usageError } from './terminal.ts'
import { withService } from './with-service.ts'

export interface RotateOptions {
  purpose?: string
  activate?: string
  now?: boolean
  json?: boolean
}

/** Published this long before it signs, so that a verifier that keeps the key set knows the new key in time. */
const DEFAULT_DELAY = '24h'

const UNITS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const LONGEST_MS = 90 * UNITS.d

/** `countersign keys rotate`: the next key of one purpose, or of every one. Old keys stay published and verify for ever. */
export function runRotateKeys(options: RotateOptions): Promise<CommandResult> {
  const purposes = readPurposes(options.purpose)
  if (options.now && options.activate !== undefined)
    throw usageError('--now and --activate exclude each other.')
  const delay = readDelay(options.now ? 'now' : (options.activate ?? DEFAULT_DELAY))
  return withService(options.json, async ({ keys, clock }) => {
    const notBefore = new Date(clock.now().getTime() + delay)
    const made: SigningKey[] = []
    for (const purpose of purposes) made.push(await keys.rotate(purpose, notBefore, { kind: 'cli' }))
    return { value: { keys: made.map(presentSigningKey) }, text: describe(made, delay) }
  })
}

/** The public part, named field by field: the record holds the seed. */
function presentSigningKey(key: SigningKey) {
  return {
    kid: key.kid,
    purpose: key.purpose,
    created_at: key.createdAt.toISOString(),
    signs_from: key.notBefore.toISOString(),
  }
}

function describe(made: SigningKey[], delay: number): string {
  const rows = made.map((key) => [key.purpose, key.kid, key.notBefore.toISOString()])
  const hint =
    delay === 0
      ? 'Running services take the new keys up within 30 seconds. Whoever keeps the key set must fetch it again now.'
      : 'Published now in /.well-known/jwks.json; whoever keeps the key set has until then to fetch it again.'
  return `${table(['PURPOSE', 'NEW KEY', 'SIGNS FROM'], rows)}\n${hint}`
}

function readPurposes(text: string | undefined): readonly KeyPurpose[] {
  if (text === undefined) return KEY_PURPOSES
  const purpose = KEY_PURPOSES.find((known) => known === text)
  if (purpose === undefined)
    throw usageError(`${JSON.stringify(text)} is no purpose; choose among ${KEY_PURPOSES.join(', ')}.`)
  return [purpose]
}

/** Reads `now`, `30m`, `24h` or `7d` into milliseconds. @throws CliError */
function readDelay(text: string): number {
  if (text === 'now') return 0
  const match = /^(\d{1,5})([mhd])$/.exec(text)
  const unit = match?.[2]
  const delay = unit === 'm' || unit === 'h' || unit === 'd' ? Number(match?.[1]) * UNITS[unit] : undefined
  if (delay === undefined || delay > LONGEST_MS)
    throw usageError('--activate takes "now" or a time such as 30m, 24h or 7d, at most 90d.')
  return delay
}
