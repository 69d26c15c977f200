import { type RequestHandler, Router } from 'express'
import { isId } from '../../domain/identifier.ts'
import { verifyByDecisionId, verifyDecision } from '../../flow/verify-receipt.ts'
import { toJwks } from '../../signing/keys.ts'
import { presentVerdict, type verdictAnswer } from '../api/receipts.ts'
import type { Handler, WithId } from '../handler.ts'
import type { HttpDeps } from '../http-deps.ts'
import { clientAddress } from '../middleware/client-address.ts'
import { limitByAddress } from '../middleware/limit.ts'

/** Public: anyone may verify a receipt and fetch the keys. */
export function verificationRoutes(deps: HttpDeps): Router {
  const router = Router()
  router.get('/api/v1/approvals/:id/verify', limitByAddress(deps, 'verify'), verify(deps))
  router.get('/.well-known/jwks.json', jwks(deps))
  return router
}

function verify(deps: HttpDeps): Handler<typeof verdictAnswer, WithId> {
  return async (request, response) => {
    const asker = { kind: 'public', address: clientAddress(request) } as const
    const { id } = request.params
    const find = isId('dec', id) ? verifyByDecisionId : verifyDecision
    const verdict = await find(deps, id, asker)
    const unknown = !verdict.valid && verdict.status === undefined
    response.status(unknown ? 404 : 200).json(presentVerdict(verdict))
  }
}

/** Retired keys stay published: old receipts must verify for ever. */
function jwks(deps: HttpDeps): RequestHandler {
  return (_request, response) => {
    response.setHeader('Cache-Control', 'public, max-age=300')
    response.type('application/jwk-set+json').send(JSON.stringify(toJwks(deps.keys.ring().publicRecords())))
  }
}
