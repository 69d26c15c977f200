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
  /** What to do about it; only where something is to be done. */
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

/** What went wrong, without secrets. */
export function reasonOf(error: unknown): string {
  return String(redact(error instanceof Error ? error.message : String(error)))
}

/** What a look into the store finds; `none` where there is no store yet. */
export async function lookInStore(
  name: string,
  config: Config,
  none: Check[],
  look: () => Promise<Check[]>,
): Promise<Check[]> {
  if (!hasStore(config)) return none
  return look().catch((error) => [fail(name, reasonOf(error), 'Run: npx countersign doctor')])
}

/** What the running service has noted: since when which workspaces and channels take no cards. Nothing, where all is well. */
export function checkCards(config: Config, platform: ChatPlatform): Promise<Check[]> {
  return lookInStore('Cards', config, [], async () => {
    const [first, ...more] = await inspectTroubles(config, platform)
    if (first === undefined) return []
    const others = more.length === 0 ? '' : `, and ${more.length} more`
    const where = first.channel === undefined ? '' : ` in “${visibleString(first.name ?? first.channel)}”`
    const detail = `none are taken${where} since ${first.since.toISOString()} (${first.reason})${others}`
    return [warn('Cards', detail, troubleAdvice(first))]
  })
}

const MARKS = { ok: 'ok  ', warn: 'warn', fail: 'FAIL' } as const

/** The checks as a doctor tells them. One failed check makes the command fail. */
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

/** What there is to say about the configuration, then what `examine` finds with it if it can be used. */
export async function diagnose(examine: (config: Config) => Promise<Check[]>): Promise<CommandResult> {
  const { config, checks } = checkConfiguration()
  return reportChecks(config === undefined ? checks : await examine(config))
}

/** The configuration, if it can be used, and what there is to say about it. */
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
    'fine for development, not for production',
    ['For production:', ...missing.map((problem) => `- ${problem}`)].join('\n'),
  )
}

/** A warning reads `NAME: what it does not do, or should not`. */
function warned(warning: string): Check {
  const name = warning.slice(0, warning.indexOf(':'))
  return warn('Configuration', warning, `Set ${name} to another value, or leave it unset.`)
}

/** A problem reads `NAME: what is wrong`. */
function told(problem: string): Check {
  const cut = problem.indexOf(': ')
  const name = cut < 0 ? 'it' : problem.slice(0, cut)
  return fail(
    'Configuration',
    problem,
    `Change ${name} in the environment or in .env; .env.example explains it.`,
  )
}

/** How long an answer is waited for. */
export const TIMEOUT_MS = 5_000

/** Where a chat platform sends to, and something that it would never send: it is not signed. */
interface UnsignedCall {
  name: string
  platform: string
  address: string
  body: string | URLSearchParams
  headers?: Record<string, string>
}

/** Can the platform reach the service at all? It sends only to https: addresses. */
export function checkHttps(platform: string, baseUrl: string, fix: string): Check {
  if (baseUrl.startsWith('https:')) return ok('BASE_URL', baseUrl)
  return fail('BASE_URL', `${platform} sends only to https: addresses, not to ${baseUrl}`, fix)
}

/** Does our own address refuse what is not signed? Whether the platform's network gets here only the platform can try. */
export async function checkUnsigned(call: UnsignedCall): Promise<Check> {
  const { name, platform, address, body, headers } = call
  const status = await statusOf(address, body, headers)
  switch (status) {
    case 401:
      return ok(name, `${address} refuses what is not signed`)
    case undefined: {
      const fix = 'Start the service, and let BASE_URL lead to it, from the internet too.'
      return fail(name, `nothing answers at ${address}`, fix)
    }
    case 404: {
      const fix = `Restart the service with these settings: what runs there has no ${platform}. Or BASE_URL leads elsewhere.`
      return fail(name, `nothing is there: ${address} answers 404`, fix)
    }
    default: {
      const fix = 'Let BASE_URL lead to this service: a proxy must pass requests on as they are.'
      return fail(name, `${address} answers ${status} instead of 401`, fix)
    }
  }
}

/** @returns undefined when nothing answers */
export async function statusOf(...call: Parameters<typeof send>): Promise<number | undefined> {
  try {
    const response = await send(...call)
    await response.body?.cancel()
    return response.status
  } catch {
    return undefined
  }
}

/** POST without following, and without waiting for long. @throws when there is no answer */
export function send(
  address: string | URL,
  body: string | URLSearchParams,
  headers: Record<string, string> = {},
): Promise<Response> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  return fetch(address, { method: 'POST', redirect: 'manual', headers, body, signal })
}

/** A code of the other side, which is printed to a terminal. */
export function printableCode(code: string | undefined): string {
  return code !== undefined && /^[\w.]{1,60}$/.test(code) ? code : 'an unknown error'
}
