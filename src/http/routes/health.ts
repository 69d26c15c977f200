import { Router } from 'express'
import type { HttpDeps } from '../http-deps.ts'

/** `/healthz`: the process answers. `/readyz`: it can do its work, that is, the store answers. */
export function healthRoutes(deps: HttpDeps): Router {
  const router = Router()
  router.get('/healthz', (_request, response) => {
    response.setHeader('Cache-Control', 'no-store').json({ status: 'ok' })
  })
  router.get('/readyz', async (_request, response) => {
    const ready = await deps.ping().then(
      () => true,
      () => false,
    )
    response.status(ready ? 200 : 503).setHeader('Cache-Control', 'no-store')
    response.json(
      ready ? { status: 'ready' } : { error: 'unavailable', message: 'The store does not answer.' },
    )
  })
  return router
}
