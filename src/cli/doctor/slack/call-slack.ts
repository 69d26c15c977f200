import { z } from 'zod'

const TIMEOUT_MS = 5_000

const answerSchema = z.looseObject({ ok: z.boolean(), error: z.string().optional() })

/** What Slack said to one call of its Web API. */
export interface SlackAnswer {
  ok: boolean
  /** Slack's own code. */
  error: string | undefined
  /** Of the token, if Slack told. */
  scopes: readonly string[] | undefined
  body: Readonly<Record<string, unknown>>
}

/** One call, with a token or as nobody. @returns undefined when nobody answers there as Slack does */
export async function callSlack(
  apiUrl: string,
  method: string,
  { token, args = {} }: { token?: string; args?: Record<string, string> },
): Promise<SlackAnswer | undefined> {
  try {
    const response = await fetch(new URL(method, apiUrl), {
      method: 'POST',
      redirect: 'manual',
      headers: token === undefined ? {} : { Authorization: `Bearer ${token}` },
      body: new URLSearchParams(args),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const body = answerSchema.parse(await response.json())
    const scopes = response.headers.get('x-oauth-scopes')?.split(',')
    return { ok: body.ok, error: safeCode(body), scopes: scopes?.map((scope) => scope.trim()), body }
  } catch {
    return undefined
  }
}

/** It is printed to a terminal. */
function safeCode({ ok, error }: z.infer<typeof answerSchema>): string | undefined {
  if (ok) return undefined
  return error !== undefined && /^[\w.]{1,60}$/.test(error) ? error : 'an unknown error'
}
