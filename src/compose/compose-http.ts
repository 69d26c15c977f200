import { readFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import type { Config } from '../config/config.ts'
import { buildInfo, packagePath } from '../config/package-path.ts'
import { createHttpApp } from '../http/app.ts'
import type { HttpDeps, Mount } from '../http/http-deps.ts'
import { createSlots, DOWNLOADS, WAITS_EACH } from '../http/slots.ts'
import { ping } from '../store/mongo/connect.ts'
import type { Composition } from './compose.ts'

/** Builds the HTTP surface of a composition, which commands do without. `mounts` are the routes that chat platforms call. */
export function composeHttp(
  config: Config,
  { deps, limiter, connection }: Composition,
  { mounts = [], onAnswered }: { mounts?: readonly Mount[]; onAnswered?: HttpDeps['onAnswered'] } = {},
): RequestListener {
  const token = config.internalServiceToken
  const waits = { each: WAITS_EACH, process: config.maxOpenWaits }
  return createHttpApp({
    ...deps,
    limiter,
    internalTokenHash: token === undefined ? undefined : deps.vault.hash('internal-token', token),
    waitSlots: createSlots(waits, collectEarly),
    inboxSlots: createSlots(waits),
    exportSlots: createSlots(DOWNLOADS),
    trustProxy: config.trustProxy,
    build: buildInfo(),
    pagesDir: packagePath('dist/webauthn-page'),
    dashboardDir: packagePath('dist/dashboard'),
    workerDir: packagePath('dist/service-worker'),
    mounts,
    requestLevel: config.production ? 'info' : 'debug',
    onAnswered,
    openapi: () => JSON.stringify(JSON.parse(readFileSync(packagePath('openapi.json'), 'utf8'))),
    docs: () => readFileSync(packagePath('dist/service/docs.html'), 'utf8'),
    ping: () => ping(connection),
  })
}

/**
 * While very many callers wait, makes V8 collect garbage once the heap has grown by 30 %, instead of up to fourfold: each of
 * 10,000 callers takes 16 kB instead of 29, at the cost of up to 14 % of the creates. 0 restores V8's own rule. V8 reads the
 * flag again at each collection.
 */
function collectEarly(many: boolean): void {
  setFlagsFromString(`--heap-growing-percent=${many ? 30 : 0}`)
}
