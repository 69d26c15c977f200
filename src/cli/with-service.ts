import { compose } from '../compose/compose.ts'
import { loadConfig } from '../config/config.ts'
import type { FlowDeps } from '../flow/deps.ts'
import { commandLog } from './command-log.ts'
import { loadForStore } from './load-for-store.ts'

/**
 * Puts the service together, does the work and lets go again: on the store of a service that runs, else on the store itself.
 * @param fresh a store may be made, for what can be done before the service was ever started
 * @throws CliError `no_store`, and what `compose` throws
 */
export async function withService<Result>(
  json: boolean | undefined,
  work: (deps: FlowDeps) => Promise<Result>,
  { fresh = false }: { fresh?: boolean } = {},
): Promise<Result> {
  const composition = await compose(fresh ? loadConfig() : loadForStore(), {
    log: commandLog(json),
    shareStore: true,
  })
  try {
    return await work(composition.deps)
  } finally {
    await composition.close()
  }
}
