import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from './config.ts'

/** Is there a store to open? `openStore` would make an embedded one. A MongoDB answers for itself. */
export function hasStore({ mongodbUri, dataDir }: Pick<Config, 'mongodbUri' | 'dataDir'>): boolean {
  return mongodbUri !== undefined || existsSync(join(dataDir, 'store.db'))
}
