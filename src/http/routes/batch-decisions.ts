import { type RequestHandler, Router } from 'express'
import { decideBatch } from '../../flow/batch/decide-batch.ts'
import { startBatch } from '../../flow/batch/start-batch.ts'
import { batchBody, batchOptionsBody, presentBatchResult } from '../api/batch-decisions.ts'
import type { HttpDeps } from '../http-deps.ts'
import { clientAddress } from '../middleware/client-address.ts'
import { jsonBody } from '../middleware/json-body.ts'
import { limitByPerson } from '../middleware/limit.ts'
import { requireSession, sessionOf } from '../middleware/session.ts'
import { parseBody, readProof } from '../parse.ts'

/** Many decisions under one gesture. Sessions only; to the limiter a batch is one request. */
export function batchDecisionRoutes(deps: HttpDeps): Router {
  const decider = [requireSession(deps), limitByPerson(deps, 'person')]
  const router = Router()
  router.post('/decisions/options', decider, jsonBody, options(deps))
  router.post('/decisions', decider, jsonBody, decisions(deps))
  return router
}

function options(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const { items } = parseBody(batchOptionsBody, request.body)
    response.json(await startBatch(deps, sessionOf(response), items))
  }
}

function decisions(deps: HttpDeps): RequestHandler {
  return async (request, response) => {
    const { batch_id: batchId, comment } = parseBody(batchBody, request.body)
    const address = clientAddress(request)
    const proof = readProof(request.body, address)
    const results = await decideBatch(deps, sessionOf(response), { batchId, comment, proof, address })
    response.json({ data: results.map(presentBatchResult) })
  }
}
