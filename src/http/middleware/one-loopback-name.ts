import type { RequestHandler } from 'express'

/** Other names of this machine, as a `Host` header spells them. */
const LOOPBACK_ADDRESS = /^(?:127\.0\.0\.1|\[::1\])(:\d+)?$/

interface LoopbackDeps {
  settings: { baseUrl: string }
  /** The proxies that stand in front: how many, or which; 0 for none. */
  trustProxy: number | readonly string[]
}

/**
 * Leads a page that was opened by a loopback address to the same page at `localhost`: passkeys and cookies are bound to
 * that name (WebAuthn section 5.1.3, step 8), so nothing could be done where the visitor is. Only where the service itself
 * is called `localhost`, on the same port, and not behind a proxy: one that names us by our address would lead in circles.
 */
export function oneLoopbackName({ settings, trustProxy }: LoopbackDeps): RequestHandler {
  const { hostname, host, origin } = new URL(settings.baseUrl)
  const port = host.slice(hostname.length)
  return (request, response, next) => {
    const found = LOOPBACK_ADDRESS.exec(request.get('Host') ?? '')
    if (hostname !== 'localhost' || found === null || (found[1] ?? '') !== port) return next()
    if (trustProxy !== 0 || request.get('X-Forwarded-For') !== undefined) return next()
    // Nothing but a path: `GET http://host/account` is well-formed, too (RFC 9112 section 3.2.2).
    if (!request.originalUrl.startsWith('/')) return next()
    response.setHeader('Cache-Control', 'no-store')
    response.redirect(307, `${origin}${request.originalUrl}`)
  }
}
