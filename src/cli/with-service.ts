import { setTimeout as delay } from 'node:timers/promises'
import { type Composition, compose } from '../compose.ts'
import { loadConfig } from '../config.ts'
import type { FlowDeps } from '../flow/deps.ts'
import { DataDirInUseError } from '../open-store.ts'
import { commandLog } from './command-log.ts'

/** A service, or another command, may be about to open the store or to leave it. */
const TRIES = 50
const GAP_MS = 100

/**
 * Puts the service together, does the work and lets go again: on the store of a service that runs, else on the store itself.
 * @throws what `compose` throws
 */
export async function withService<Result>(
  json: boolean | undefined,
  work: (deps: FlowDeps) => Promise<Result>,
): Promise<Result> {
  const composition = await open(json)
  try {
    return await work(composition.deps)
  } finally {
    await composition.close()
  }
}

async function open(json: boolean | undefined): Promise<Composition> {
  const config = loadConfig()
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await compose(config, { log: commandLog(json), shareStore: true })
    } catch (error) {
      if (!(error instanceof DataDirInUseError) || attempt === TRIES) throw error
      await delay(GAP_MS)
    }
  }
}
