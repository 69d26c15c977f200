import type { Config } from './config.ts'
import type { TrailDeps } from './flow/audit-ports.ts'
import { openStore } from './open-store.ts'
import { createAuditTrail } from './store/audit-trail.ts'
import { connectStore } from './store/connect.ts'
import { createStateSurvey } from './store/state-survey.ts'

/**
 * Lets the work read the audit trail, on the store of a service that runs or on the store itself. Nothing is written, no
 * index made and no secret needed: a store somebody tampered with is looked at as it is.
 * @throws what `openStore` and `connectStore` throw
 */
export async function withTrail<Result>(
  config: Pick<Config, 'mongodbUri' | 'dataDir'>,
  work: (deps: TrailDeps) => Promise<Result>,
): Promise<Result> {
  const store = await openStore(config, true)
  try {
    const connection = await connectStore(store.uri)
    try {
      return await work({ trail: createAuditTrail(connection), survey: createStateSurvey(connection) })
    } finally {
      await connection.close()
    }
  } finally {
    await store.close()
  }
}
