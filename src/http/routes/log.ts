import { type Request, type Response, Router } from 'express'
import { refusal } from '../../domain/errors.ts'
import { describeLogs, readTile, shownCheckpoint } from '../../flow/audit/read-log.ts'
import { parseTilePath } from '../../signing/log/tiles.ts'
import { bindTo, type Endpoint } from '../handler.ts'
import type { HttpDeps } from '../http-deps.ts'
import { limitByAddress } from '../middleware/limit.ts'

/** Creates the public routes of the logs (C2SP tlog-tiles): what proves that they only ever grew, and what is in them. */
export function logRoutes(deps: HttpDeps): Router {
  const router = Router()
  const on = bindTo(deps)
  const limit = limitByAddress(deps, 'log')
  router.get('/.well-known/countersign-log', limit, on(showLogs))
  router.get('/log/checkpoint', limit, on(showCheckpoint))
  router.get('/log/:number/checkpoint', limit, on(showLaterCheckpoint))
  router.get('/log/tile/*path', limit, on(showTile))
  router.get('/log/:number/tile/*path', limit, on(showLaterTile))
  return router
}

/** Where a log is read, for ever: the tiles of the one that goes on for it have other addresses. */
function prefixOf(number: number): string {
  return number === 1 ? '/log' : `/log/${number}`
}

/** The number of a later log in its addresses. @throws Refusal `not_found` for another spelling */
function numberIn({ params }: Request): number {
  const number = Number(params.number)
  if (!(number > 1) || prefixOf(number) !== `/log/${params.number}`) throw refusal('not_found')
  return number
}

const showLogs: Endpoint = async (deps, _request, response) => {
  const found = await describeLogs(deps)
  if (found === undefined) throw refusal('not_found')
  const { former, ...current } = found
  const addressed = <Log extends { number: number }>({ number, ...log }: Log) => ({
    ...log,
    url: `${deps.settings.baseUrl}${prefixOf(number)}`,
  })
  const witnesses = deps.witnesses.map(({ vkey, url }) => ({ vkey, url }))
  response.setHeader('Cache-Control', 'public, max-age=300')
  response
    .type('json')
    .send(JSON.stringify({ ...addressed(current), witnesses, former: former.map(addressed) }))
}

const showCheckpoint: Endpoint = (deps, _request, response) => sendCheckpoint(deps, 1, response)

const showLaterCheckpoint: Endpoint = async (deps, request, response) =>
  sendCheckpoint(deps, numberIn(request), response)

async function sendCheckpoint(deps: HttpDeps, log: number, response: Response): Promise<void> {
  const note = await shownCheckpoint(deps, log)
  if (note === undefined) throw refusal('not_found')
  response.setHeader('Cache-Control', 'public, max-age=1')
  response.type('text/plain; charset=utf-8').send(note)
}

const showTile: Endpoint = (deps, request, response) => sendTile(deps, 1, request.path, response)

const showLaterTile: Endpoint = async (deps, request, response) =>
  sendTile(deps, numberIn(request), request.path, response)

async function sendTile(deps: HttpDeps, log: number, path: string, response: Response): Promise<void> {
  const tile = parseTilePath(path.slice(`${prefixOf(log)}/tile/`.length))
  const hidden = tile?.level === 'entries' && deps.settings.logEntries === 'private'
  const bytes = tile === undefined || hidden ? undefined : await readTile(deps, log, tile)
  if (tile === undefined || bytes === undefined) throw refusal('not_found')
  response.setHeader('Cache-Control', 'public, max-age=31536000, immutable')
  response.type('application/octet-stream').send(Buffer.from(bytes))
}
