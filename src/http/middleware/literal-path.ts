import type { RequestHandler } from 'express'

/** A path that is no percent-encoding (`%zz`) is read letter by letter: routes then meet it as any other malformed id (T68). */
export const literalPath: RequestHandler = (request, _response, next) => {
  const [path = '', ...query] = request.url.split('?')
  if (!isDecodable(path)) request.url = [path.replaceAll('%', '%25'), ...query].join('?')
  next()
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
