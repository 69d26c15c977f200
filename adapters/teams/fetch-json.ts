import { parseJson } from '../../src/domain/parse-json.ts'

/** Most bytes of an answer; much more than any document or roster entry that we request. */
const MOST_BYTES = 1_000_000

/** Why a document could not be fetched. */
export class FetchFailure extends Error {
  /** 0 when there was no answer at all. */
  readonly status: number
  /** The other side's error code, for the log; never a secret. */
  readonly code: string

  constructor(status: number, code: string) {
    super(`no document: ${status} ${code}`)
    this.name = 'FetchFailure'
    this.status = status
    this.code = code
  }
}

/** Sends one request, without redirect, and reads a JSON answer of bounded size. @throws FetchFailure; the reason of `signal` */
export async function fetchJson(url: string, init: RequestInit & { signal: AbortSignal }): Promise<unknown> {
  const response = await fetch(url, { ...init, redirect: 'error' }).catch((error: unknown) => {
    if (init.signal.aborted) throw error
    throw new FetchFailure(0, networkCode(error))
  })
  const text = await readText(response)
  const body = parseJson(text)
  if (!response.ok) throw new FetchFailure(response.status, errorCodeOf(body) ?? 'http_error')
  if (body === undefined) throw new FetchFailure(response.status, 'not_json')
  return body
}

/** Reads the text of an answer; stops reading one that is too long and closes it. @throws FetchFailure `too_large` */
export async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > MOST_BYTES) throw new FetchFailure(response.status, 'too_large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Returns the network error's code, such as `ECONNRESET`. */
export function networkCode(error: unknown): string {
  const cause: unknown = error instanceof Error ? error.cause : undefined
  for (const each of [cause, error]) {
    if (each instanceof Error && 'code' in each && typeof each.code === 'string') return each.code
  }
  return 'network'
}

/** Reads the code of `{error: "code"}` (OAuth) or `{error: {code}}` (the connector); undefined for anything else. */
export function errorCodeOf(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null || !('error' in body)) return undefined
  const { error } = body
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : error
  return typeof code === 'string' ? code.slice(0, 100) : undefined
}
