import { join } from 'node:path'
import { Router } from 'express'
import type { HttpDeps } from '../http-deps.ts'

/** What a phone needs to put the dashboard on its home screen: iPhones show notifications to such apps alone. */
const MANIFEST = {
  name: 'Countersign',
  short_name: 'Countersign',
  id: '/',
  start_url: '/',
  scope: '/',
  display: 'standalone',
}

/**
 * The script that shows pushes, under one name for ever: browsers ask again for exactly this address, at each visit and
 * after a day at most, so it must never be kept.
 */
export function serviceWorkerRoutes({ workerDir }: Pick<HttpDeps, 'workerDir'>): Router {
  const router = Router()
  const file = join(workerDir, 'sw.js')
  router.get('/sw.js', (_request, response, next) => {
    response.sendFile(
      file,
      {
        cacheControl: false,
        headers: {
          'Cache-Control': 'no-cache',
          'Content-Type': 'text/javascript; charset=utf-8',
          'Service-Worker-Allowed': '/',
        },
      },
      (error?: Error) => error && next(error),
    )
  })
  router.get('/manifest.webmanifest', (_request, response) => {
    response.setHeader('Cache-Control', 'no-cache')
    response.type('application/manifest+json').send(JSON.stringify(MANIFEST))
  })
  return router
}
