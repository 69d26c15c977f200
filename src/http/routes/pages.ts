import { join } from 'node:path'
import express, { Router } from 'express'
import type { HttpDeps } from '../http-deps.ts'

/** Paths of the hosted page; it reads the rest from the address. `GET` has no effect on any of them (T13). */
const PAGE_PATHS = ['/setup', '/enroll', '/signin', '/account', '/a/:id']

/** The built pages: hashed assets for ever, the shell always fresh. Nothing of a request is in the HTML. */
export function pageRoutes(deps: HttpDeps): Router {
  const router = Router()
  const assets = express.static(join(deps.pagesDir, 'assets'), {
    immutable: true,
    maxAge: '365d',
    index: false,
  })
  router.use('/assets', assets)
  router.get('/', (_request, response) => response.redirect(303, '/account'))
  router.get(PAGE_PATHS, (_request, response, next) => {
    response.setHeader('Cache-Control', 'no-cache')
    response.sendFile(
      'index.html',
      { root: deps.pagesDir, cacheControl: false },
      (error) => error && next(error),
    )
  })
  return router
}
