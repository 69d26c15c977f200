import { Router } from 'express'
import { refusal } from '../../domain/errors.ts'
import { isRolledBack } from '../../flow/audit/log.ts'
import { describeLog, readTile, shownCheckpoint } from '../../flow/audit/read-log.ts'
import { parseTilePath } from '../../signing/log/tiles.ts'
import { bindTo, type Endpoint } from '../handler.ts'
import type { HttpDeps } from '../http-deps.ts'
import { limitByAddress } from '../middleware/limit.ts'

/** Creates the public routes of the log (C2SP tlog-tiles): what proves that it only ever grew, and what is in it. */
export function logRoutes(deps: HttpDeps): Router {
  const router = Router()
  const on = bindTo(deps)
  const limit = limitByAddress(deps, 'log')
  router.get('/.well-known/countersign-log', limit, on(showLog))
  router.get('/log/checkpoint', limit, on(showCheckpoint))
  router.get('/log/tile/*path', limit, on(showTile))
  return router
}

const showLog: Endpoint = async (deps, _request, response) => {
  const found = await describeLog(deps)
  if (found === undefined) throw refusal('not_found')
  const witnesses = deps.witnesses.map(({ vkey, url }) => ({ vkey, url }))
  response.setHeader('Cache-Control', 'public, max-age=300')
  response.type('json').send(JSON.stringify({ ...found, url: `${deps.settings.baseUrl}/log`, witnesses }))
}

const showCheckpoint: Endpoint = async (deps, _request, response) => {
  const head = await deps.logs.current()
  if (head?.note === undefined) throw refusal('not_found')
  // Others may hold a later one: this one would hide what came after it.
  if (isRolledBack(deps, head)) throw refusal('log_rolled_back')
  response.setHeader('Cache-Control', 'public, max-age=1')
  response.type('text/plain; charset=utf-8').send(shownCheckpoint(head, deps.clock.now()))
}

const showTile: Endpoint = async (deps, request, response) => {
  const tile = parseTilePath(request.path.slice('/log/tile/'.length))
  const hidden = tile?.level === 'entries' && deps.settings.logEntries === 'private'
  const bytes = tile === undefined || hidden ? undefined : await readTile(deps, tile)
  if (tile === undefined || bytes === undefined) throw refusal('not_found')
  // A log that goes on after a restore has other tiles at the same addresses: caches must not mix them.
  response.setHeader('Cache-Control', 'public, max-age=300')
  response.type('application/octet-stream').send(Buffer.from(bytes))
}
