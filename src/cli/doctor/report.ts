import type { CommandResult } from '../tell.ts'
import type { Check } from './check.ts'

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
