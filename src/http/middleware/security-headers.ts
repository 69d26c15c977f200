import type { RequestHandler } from 'express'
import helmet from 'helmet'

/**
 * Headers of every answer. The pages run no script but our own files, touch no other host, cannot be framed, and assign
 * no HTML (Trusted Types): text of callers stays text (T17, T21, T45).
 * @param https whether the service is reached over https; HSTS would lock a development host out
 */
export function securityHeaders(https: boolean): RequestHandler[] {
  const headers = helmet({
    contentSecurityPolicy: { useDefaults: false, directives: contentSecurityPolicy },
    crossOriginEmbedderPolicy: false,
    frameguard: { action: 'deny' },
    referrerPolicy: { policy: 'no-referrer' },
    strictTransportSecurity: https ? { maxAge: 63_072_000, includeSubDomains: false } : false,
  })
  return [headers, permissions]
}

/**
 * For pages that may start the service worker. Its address is a script to the browser, which takes it from a Trusted Types
 * policy only: of that one name, made once by our own code, which lets nothing through but `/sw.js`.
 */
export function allowServiceWorker(): RequestHandler {
  return helmet.contentSecurityPolicy({
    useDefaults: false,
    directives: { ...contentSecurityPolicy, manifestSrc: ["'self'"], trustedTypes: ['service-worker'] },
  })
}

const contentSecurityPolicy = {
  defaultSrc: ["'none'"],
  scriptSrc: ["'self'"],
  styleSrc: ["'self'"],
  imgSrc: ["'self'", 'data:'],
  connectSrc: ["'self'"],
  formAction: ["'self'"],
  baseUri: ["'none'"],
  frameAncestors: ["'none'"],
  requireTrustedTypesFor: ["'script'"],
  trustedTypes: ["'none'"],
}

const permissions: RequestHandler = (_request, response, next) => {
  response.setHeader(
    'Permissions-Policy',
    'publickey-credentials-get=(self), publickey-credentials-create=(self), camera=(), microphone=(), geolocation=()',
  )
  next()
}

/** Answers of the API are for the one who asked, now. */
export const noStore: RequestHandler = (_request, response, next) => {
  response.setHeader('Cache-Control', 'no-store')
  next()
}
