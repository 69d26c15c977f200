import { compose } from '../compose.ts'
import { loadConfig } from '../config.ts'
import type { FlowDeps } from '../flow/deps.ts'
import { commandLog } from './command-log.ts'

/**
 * Puts the service together, does the work and lets go again: on the store of a service that runs, else on the store itself.
 * @throws what `compose` throws
 */
export async function withService<Result>(
  json: boolean | undefined,
  work: (deps: FlowDeps) => Promise<Result>,
): Promise<Result> {
  const composition = await compose(loadConfig(), { log: commandLog(json), shareStore: true })
  try {
    return await work(composition.deps)
  } finally {
    await composition.close()
  }
}
