import type { CommandResult } from '../tell.ts'
import type { Check } from './check.ts'
import { checkAnswer, checkBaseUrl } from './check-address.ts'
import { checkConfiguration } from './check-configuration.ts'
import { checkDataDir, checkSecrets } from './check-files.ts'
import { checkNode, checkPages } from './check-machine.ts'
import { checkStore } from './check-store.ts'

const MARKS = { ok: 'ok  ', warn: 'warn', fail: 'FAIL' } as const

/** `countersign doctor`: looks, changes nothing, and says what to do. One failed check makes the command fail. */
export async function runDoctor(): Promise<CommandResult> {
  const checks = await examine()
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

async function examine(): Promise<Check[]> {
  const { config, checks } = checkConfiguration()
  const always = [checkNode(), checkPages(), ...checks]
  if (config === undefined) return always
  return [
    ...always,
    await checkDataDir(config),
    await checkSecrets(config),
    ...(await checkStore(config)),
    checkBaseUrl(config),
    await checkAnswer(config),
  ]
}

function line({ name, status, detail, fix }: Check): string {
  const first = `${MARKS[status]}  ${name.padEnd(14)}  ${detail}`
  const more = fix === undefined ? [] : fix.split('\n').map((text) => `${' '.repeat(22)}${text}`)
  return [first, ...more].join('\n')
}
