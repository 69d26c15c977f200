import { get, RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { hint } from '../../webauthn-page/kit/dom/element.ts'

/** Seconds before each check whether the service is back: about five minutes in all. */
const PAUSES = [2, 4, 8, 15, 30, 60, 60, 60, 60]

interface Trying {
  /** Whether the page failed because no answer came at all. */
  away: boolean
  /** The number of earlier failures in a row: as many pauses are skipped. */
  failed: number
  retry(): void
  /** Aborted when the person opens another page. */
  signal: AbortSignal
}

/**
 * Runs `retry` when the network is back, or when a service that was away answers again. If the page failed although the
 * service answers, the retry is left to the person: it would fail the same way.
 * @returns the hint that tells the person
 */
export function retryWhenOnline({ away, failed, retry, signal }: Trying): HTMLElement {
  const said = hint()
  const pauses = PAUSES.slice(failed)
  let wasAway = away
  const wait = (): void => {
    const pause = pauses.shift()
    if (wasAway) said.textContent = pause === undefined ? STOPPED : TRYING
    if (pause === undefined) return
    const timer = setTimeout(() => void look(), pause * 1000)
    signal.addEventListener('abort', () => clearTimeout(timer), { once: true })
  }
  const look = async (): Promise<void> => {
    const there = await isThere()
    if (signal.aborted || (there && !wasAway)) return
    wasAway = true
    if (there) retry()
    else wait()
  }
  addEventListener('online', retry, { signal, once: true })
  wait()
  return said
}

const TRYING = 'The page tries again automatically.'
const STOPPED = 'The page has stopped trying.'

async function isThere(): Promise<boolean> {
  try {
    await get('/session?optional=true', (value) => value)
    return true
  } catch (error) {
    // Some proxies answer in place of a service that is away.
    return error instanceof RequestFailure && ![0, 502, 503, 504].includes(error.status)
  }
}
