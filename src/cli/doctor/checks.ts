import { inspectTroubles } from '../../compose/inspect-store.ts'
import { hasStore } from '../../compose/open-store.ts'
import { type Config, ConfigError, loadConfig, loadProductionProblems } from '../../config/config.ts'
import type { ChatPlatform } from '../../domain/chat.ts'
import { troubleAdvice } from '../../domain/chat-trouble.ts'
import { redact } from '../../domain/redact.ts'
import { visibleString } from '../../domain/text.ts'
import type { CommandResult } from '../terminal.ts'

/** One line of the doctor's report. */
export interface Check {
  name: string
  status: 'ok' | 'warn' | 'fail'
  /** What was found. */
  detail: string
  /** What to do about it; absent if nothing is to be done. */
  fix?: string
}

export function ok(name: string, detail: string): Check {
  return { name, status: 'ok', detail }
}

export function warn(name: string, detail: string, fix: string): Check {
  return { name, status: 'warn', detail, fix }
}

export function fail(name: string, detail: string, fix: string): Check {
  return { name, status: 'fail', detail, fix }
}

/** Returns the message of an error, without secrets. */
export function reasonOf(error: unknown): string {
  const said = error instanceof ConfigError ? error.problems.join(' ') : undefined
  return String(redact(said ?? (error instanceof Error ? error.message : String(error))))
}

/** Runs checks on the store. @returns `none` if there is no store yet, a failed check if `look` throws */
export async function lookInStore(
  name: string,
  config: Config,
  none: Check[],
  look: () => Promise<Check[]>,
): Promise<Check[]> {
  if (!hasStore(config)) return none
  return look().catch((error) => [fail(name, reasonOf(error), 'Run: npx countersign doctor')])
}

/** Reports workspaces and channels that, as the running service noted, take no cards, and since when; empty if all is well. */
export function checkCards(config: Config, platform: ChatPlatform): Promise<Check[]> {
  return lookInStore('Cards', config, [], async () => {
    const [first, ...more] = await inspectTroubles(config, platform)
    if (first === undefined) return []
    const others = more.length === 0 ? '' : `, and ${more.length} more`
    const where = first.channel === undefined ? '' : ` in “${visibleString(first.name ?? first.channel)}”`
    const detail = `none are accepted${where} since ${first.since.toISOString()} (${first.reason})${others}`
    return [warn('Cards', detail, troubleAdvice(first))]
  })
}

const MARKS = { ok: 'ok  ', warn: 'warn', fail: 'FAIL' } as const

/** Turns the checks into the doctor's report. One failed check makes the command fail. */
export function reportChecks(checks: readonly Check[]): CommandResult {
  const failed = checks.filter(({ status }) => status === 'fail').length
  const warned = checks.filter(({ status }) => status === 'warn').length
  const summary =
    failed > 0
      ? `${failed} of ${checks.length} checks failed.`
      : warned > 0
        ? `Usable, with ${warned} ${warned === 1 ? 'warning' : 'warnings'}.`
        : 'Everything is in order.'
  return {
    value: { ok: failed === 0, checks },
    text: [...checks.map(line), '', summary].join('\n'),
    ...(failed > 0 ? { failure: { error: 'doctor_failed', message: summary } } : {}),
  }
}

function line({ name, status, detail, fix }: Check): string {
  const first = `${MARKS[status]}  ${name.padEnd(14)}  ${detail}`
  const more = fix === undefined ? [] : fix.split('\n').map((text) => `${' '.repeat(22)}${text}`)
  return [first, ...more].join('\n')
}

/** Reports what `examine` finds with the configuration or, if that cannot be used, its problems. */
export async function diagnose(examine: (config: Config) => Promise<Check[]>): Promise<CommandResult> {
  const { config, checks } = checkConfiguration()
  return reportChecks(config === undefined ? checks : await examine(config))
}

/** Loads the configuration (undefined if it cannot be used) and checks it. */
export function checkConfiguration(): { config: Config | undefined; checks: Check[] } {
  try {
    const config = loadConfig()
    return { config, checks: [modeCheck(config), ...config.warnings.map(warned)] }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { config: undefined, checks: error.problems.map((problem) => told(problem)) }
  }
}

function modeCheck(config: Config): Check {
  if (config.production) return ok('Configuration', 'complete for production')
  const missing = loadProductionProblems()
  if (missing.length === 0) return ok('Configuration', 'usable; NODE_ENV is not "production"')
  return warn(
    'Configuration',
    'suitable for development, not for production',
    ['For production:', ...missing.map((problem) => `- ${problem}`)].join('\n'),
  )
}

/** A warning reads `NAME: what it does not do, or should not`. */
function warned(warning: string): Check {
  const name = warning.slice(0, warning.indexOf(':'))
  return warn('Configuration', warning, `Change ${name} in the environment or in .env, or leave it unset.`)
}

/** A problem reads `NAME: what is wrong`; one of `.env` itself also says what to do. */
function told(problem: string): Check {
  const cut = problem.indexOf(': ')
  if (problem.startsWith('.env: ')) {
    const [detail = '', fix = ''] = problem.split('; ')
    return fail('Configuration', detail, `${fix}.`)
  }
  const name = cut < 0 ? 'it' : problem.slice(0, cut)
  return fail(
    'Configuration',
    problem,
    `Change ${name} in the environment or in .env; .env.example explains it.`,
  )
}

/** Milliseconds to wait for an answer. */
export const TIMEOUT_MS = 5_000

/** A call to the address that a chat platform sends to, such as the platform would never make: unsigned. */
interface UnsignedCall {
  name: string
  platform: string
  address: string
  body: string | URLSearchParams
  headers?: Record<string, string>
}

/** Checks whether the platform can reach the service at all: it sends only to https: addresses. */
export function checkHttps(platform: string, baseUrl: string, fix: string): Check {
  if (baseUrl.startsWith('https:')) return ok('BASE_URL', baseUrl)
  return fail('BASE_URL', `${platform} sends only to https: addresses, not to ${baseUrl}`, fix)
}

/** Checks whether our own address refuses unsigned calls. Only the platform can try whether its network reaches us. */
export async function checkUnsigned(call: UnsignedCall): Promise<Check> {
  const { name, platform, address, body, headers } = call
  const status = await statusOf(address, body, headers)
  switch (status) {
    case 401:
      return ok(name, `${address} refuses unsigned requests`)
    case undefined: {
      const fix = 'Start the service, and make sure that BASE_URL leads to it, also from the internet.'
      return fail(name, `nothing answers at ${address}`, fix)
    }
    case 404: {
      const fix = `Restart the service with these settings: the running one has no ${platform}. Or BASE_URL leads elsewhere.`
      return fail(name, `not found: ${address} answers 404`, fix)
    }
    default: {
      const fix = 'Make BASE_URL lead to this service: a proxy must pass requests on unchanged.'
      return fail(name, `${address} answers ${status} instead of 401`, fix)
    }
  }
}

/** Returns the status of the answer, undefined when nothing answers. */
export async function statusOf(...call: Parameters<typeof send>): Promise<number | undefined> {
  try {
    const response = await send(...call)
    await response.body?.cancel()
    return response.status
  } catch {
    return undefined
  }
}

/** Sends a POST and follows no redirect. @throws when there is no answer within `TIMEOUT_MS` */
export function send(
  address: string | URL,
  body: string | URLSearchParams,
  headers: Record<string, string> = {},
): Promise<Response> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  return fetch(address, { method: 'POST', redirect: 'manual', headers, body, signal })
}

/** Returns the other side's error code, if it is safe to print to a terminal. */
export function printableCode(code: string | undefined): string {
  return code !== undefined && /^[\w.]{1,60}$/.test(code) ? code : 'an unknown error'
}
