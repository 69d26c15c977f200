import { isRecord, type Shape } from './shape.ts'

/** A call that failed, with the service's error code and sentence. Without an answer the code is `network`, or `unanswered`
 * when the call may have taken effect. */
export class RequestFailure extends Error {
  readonly status: number
  readonly code: string
  /** The body field that was refused, if the service named one. */
  readonly field: string | undefined
  /** Ids of the requests that the refusal is about, if the service named any. */
  readonly ids: readonly string[]

  constructor(status: number, code: string, message: string, about: { field?: string; ids?: string[] } = {}) {
    super(message)
    this.name = 'RequestFailure'
    this.status = status
    this.code = code
    this.field = about.field
    this.ids = about.ids ?? []
  }
}

/** Checks whether the service refused the call with one of these codes. */
export function refusedWith(codes: readonly string[], error: unknown): error is RequestFailure {
  return error instanceof RequestFailure && codes.includes(error.code)
}

const TIMEOUT_MS = 30_000

/** An answer and the service's clock when it arrived. */
interface Timed<T> {
  value: T
  /** The service's time in milliseconds, from its `Date` header, minus `steadyNow()`: accurate to a second. */
  clock: number
}

const OPENED = Date.now() - performance.now()

/**
 * Returns milliseconds of a clock that also runs while the device sleeps; in some browsers `performance.now()` then stops.
 * If a person sets the device's clock forward, a count-down is too short until the next answer, never too long.
 */
export function steadyNow(): number {
  return Math.max(performance.now(), Date.now() - OPENED)
}

/** Gets one of the service's JSON answers. @throws RequestFailure, ShapeError */
export async function get<T>(path: string, shape: Shape<T>): Promise<T> {
  return (await send('GET', path, shape)).value
}

/** Like `get`, for answers whose times are compared with the service's clock. @throws RequestFailure, ShapeError */
export function getTimed<T>(path: string, shape: Shape<T>): Promise<Timed<T>> {
  return send('GET', path, shape)
}

/** Returns what was loaded, or undefined when the service answers 404. @throws every other error of `loaded` */
export async function orNone<T>(loaded: Promise<T>): Promise<T | undefined> {
  try {
    return await loaded
  } catch (error) {
    if (error instanceof RequestFailure && error.status === 404) return undefined
    throw error
  }
}

const withBody =
  (method: string) =>
  async <T>(path: string, body: object, shape: Shape<T>): Promise<T> =>
    (await send(method, path, shape, body)).value

/** Calls with a JSON body. @throws RequestFailure, ShapeError */
export const post = withBody('POST')
export const patch = withBody('PATCH')
export const put = withBody('PUT')

/** Sends a DELETE; because of its empty JSON body, no form of another site could send it. @throws RequestFailure, ShapeError */
export async function remove<T>(path: string, shape: Shape<T>): Promise<T> {
  return (await send('DELETE', path, shape, {})).value
}

/** Calls that can be repeated without doing anything twice. */
const HARMLESS = /^\/session|\/(options|look|lookup)$/

/** Returns the failure for an unanswered call that is safe to repeat. */
export function silence(): RequestFailure {
  return new RequestFailure(
    0,
    'network',
    'The service does not respond. Check your connection and try again.',
  )
}

function noAnswer(method: string, path: string): RequestFailure {
  if (method === 'GET' || HARMLESS.test(path)) return silence()
  return new RequestFailure(
    0,
    'unanswered',
    'the service did not respond, so this may or may not have been done. Check your connection and the result before you try again.',
  )
}

async function send<T>(method: string, path: string, shape: Shape<T>, body?: object): Promise<Timed<T>> {
  const response = await fetch(`/api/v1${path}`, {
    method,
    credentials: 'same-origin',
    cache: 'no-store',
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...(body === undefined
      ? {}
      : { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }),
  }).catch(() => {
    throw noAnswer(method, path)
  })
  const clock = (Date.parse(response.headers.get('Date') ?? '') || Date.now()) - steadyNow()
  const answer: unknown = await response.json().catch(() => null)
  if (!response.ok) throw failureOf(response.status, answer)
  return { value: shape(answer, path), clock }
}

function failureOf(status: number, answer: unknown): RequestFailure {
  if (!isRecord(answer) || typeof answer.error !== 'string') {
    return new RequestFailure(
      status,
      'unknown',
      `The service answered with status ${status}. Try again in a moment.`,
    )
  }
  return new RequestFailure(status, answer.error, sentence(answer), {
    ...(typeof answer.field === 'string' ? { field: answer.field } : {}),
    ids: Array.isArray(answer.ids) ? answer.ids.map(String) : [],
  })
}

/** Returns the service's own sentence, the only part of a refusal that is made for people, without its backticks. */
function sentence({ message }: Record<string, unknown>): string {
  if (typeof message !== 'string') return 'The service refused this. Try again in a moment.'
  return message.replaceAll('`', '')
}
