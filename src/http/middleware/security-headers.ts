import type { RequestHandler } from 'express'
import helmet from 'helmet'

/**
 * Sets the security headers of every answer. Pages run only our own script files, contact no other host, cannot be framed,
 * and assign no HTML (Trusted Types), so that callers' text stays text (T17, T21, T45).
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
 * Relaxes the policy for pages that may register the service worker. The browser accepts the worker's address only from a
 * Trusted Types policy; the only permitted one is `service-worker`, which our code creates once and which passes only `/sw.js`.
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

/** Forbids caching of API answers: each is for its caller alone, at this moment. */
export const noStore: RequestHandler = (_request, response, next) => {
  response.setHeader('Cache-Control', 'no-store')
  next()
}
