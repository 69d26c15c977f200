import { parseSetCookie } from 'cookie'

/** An answer as a test looks at it. */
export interface Answer {
  status: number
  headers: Headers
  /** Parsed JSON, or undefined for an empty body. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies freely; a wrong path fails the assertion
  body: any
}

interface RequestOptions {
  headers?: Record<string, string>
  /** Sent as it is, instead of `body` as JSON. */
  raw?: string
  /** null leaves the Origin header out, as non-browsers do. */
  origin?: string | null
}

/** A browser without a screen: keeps cookies and sends the Origin of the service's own pages. */
export interface HttpClient {
  readonly cookies: Map<string, string>
  get(path: string, options?: RequestOptions): Promise<Answer>
  post(path: string, body: unknown, options?: RequestOptions): Promise<Answer>
  put(path: string, body: unknown, options?: RequestOptions): Promise<Answer>
  patch(path: string, body: unknown, options?: RequestOptions): Promise<Answer>
  delete(path: string, options?: RequestOptions): Promise<Answer>
  /** Another browser with the same cookies. */
  copy(): HttpClient
}

let clients = 0

/**
 * Makes one for a service at `url` (its BASE_URL). Each says it comes from an address of its own, which a service started
 * with `TRUST_PROXY=1` believes, so that they do not share a rate limit.
 */
export function createHttpClient(url: string, cookies = new Map<string, string>()): HttpClient {
  clients += 1
  const address = `10.0.${clients >> 8}.${clients & 0xff}`
  const send = async (method: string, path: string, body: unknown, options: RequestOptions = {}) => {
    const origin = options.origin === undefined ? url : options.origin
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(`${url}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        ...(method === 'GET' ? {} : { 'Content-Type': 'application/json' }),
        ...(method === 'GET' || origin === null ? {} : { Origin: origin }),
        'X-Forwarded-For': address,
        ...(cookie === '' ? {} : { Cookie: cookie }),
        ...options.headers,
      },
      ...(['POST', 'PUT', 'PATCH'].includes(method) ? { body: options.raw ?? JSON.stringify(body) } : {}),
    })
    for (const line of response.headers.getSetCookie()) keep(cookies, line)
    return { status: response.status, headers: response.headers, body: parse(await response.text()) }
  }
  return {
    cookies,
    get: (path, options) => send('GET', path, undefined, options),
    post: (path, body, options) => send('POST', path, body, options),
    put: (path, body, options) => send('PUT', path, body, options),
    patch: (path, body, options) => send('PATCH', path, body, options),
    delete: (path, options) => send('DELETE', path, undefined, options),
    copy: () => createHttpClient(url, new Map(cookies)),
  }
}

function keep(cookies: Map<string, string>, line: string): void {
  const { name, value, maxAge } = parseSetCookie(line)
  if (maxAge === 0 || value === undefined || value === '') cookies.delete(name)
  else cookies.set(name, value)
}

function parse(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    return text
  }
}
