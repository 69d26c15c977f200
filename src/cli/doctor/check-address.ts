import { z } from 'zod'
import type { Config } from '../../config/config.ts'
import { type Check, fail, ok, warn } from './check.ts'

const TIMEOUT_MS = 5_000

const readyAnswer = z.object({ status: z.literal('ready') })
const brokenAnswer = z.object({ error: z.literal('unavailable') })

/** Can BASE_URL be the address people and callers use? */
export function checkBaseUrl(config: Config): Check {
  const name = 'BASE_URL'
  const url = new URL(config.baseUrl)
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
  if (url.hostname !== 'localhost') return ok(name, config.baseUrl)
  if (port !== config.port) {
    const fix = `Leave BASE_URL out, or set it to http://localhost:${config.port}.`
    return warn(name, `${config.baseUrl} names another port than PORT (${config.port})`, fix)
  }
  return ok(name, `${config.baseUrl} (this machine only)`)
}

/** Does a service answer at BASE_URL, and is it this one? */
export async function checkAnswer(config: Config): Promise<Check> {
  const name = 'Service'
  const address = `${config.baseUrl}/readyz`
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const response = await fetch(address, { redirect: 'manual', signal })
    const body: unknown = await response.json().catch(() => undefined)
    if (response.status === 200 && readyAnswer.safeParse(body).success)
      return ok(name, `answers at ${config.baseUrl} and is ready`)
    if (response.status === 503 && brokenAnswer.safeParse(body).success)
      return fail(name, 'answers, but its store does not', 'See the lines about the store, and its log.')
    const fix = 'Let BASE_URL lead to this service: check the proxy, or choose another PORT.'
    return fail(name, `something else answers at ${address} (${response.status})`, fix)
  } catch {
    return warn(name, `nobody answers at ${config.baseUrl}`, 'If it should run, start it: npm start')
  }
}
