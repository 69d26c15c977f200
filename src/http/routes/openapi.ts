import { Router } from 'express'
import type { HttpDeps } from '../http-deps.ts'

/** The interface for machines. */
export function openapiRoutes(deps: Pick<HttpDeps, 'openapi'>): Router {
  const router = Router()
  router.get('/openapi.json', (_request, response) => {
    response.setHeader('Cache-Control', 'no-cache').json(deps.openapi)
  })
  return router
}
