import type { CommandResult } from '../tell.ts'
import type { Check } from './check.ts'
import { checkAnswer, checkBaseUrl } from './check-address.ts'
import { checkConfiguration } from './check-configuration.ts'
import { checkDataDir, checkSecrets } from './check-files.ts'
import { checkNode, checkPages } from './check-machine.ts'
import { checkStore } from './check-store.ts'
import { reportChecks } from './report.ts'

/** `countersign doctor`: looks, changes nothing, and says what to do. */
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
    await checkSecrets(config),
    ...(await checkStore(config)),
    checkBaseUrl(config),
    await checkAnswer(config),
  ]
}
