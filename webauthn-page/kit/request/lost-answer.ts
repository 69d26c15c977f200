import { RequestFailure } from '../api/request.ts'
import type { NoticeSlot } from '../dom/notice.ts'

/** A decision was sent, but no answer tells its outcome: it may be recorded. */
export class UnknownOutcome extends Error {
  override readonly name = 'UnknownOutcome'
  /** Such as "your approval". */
  readonly named: string
  /** The service's refusal to tell the outcome; undefined until it has refused. */
  readonly refusal: RequestFailure | undefined

  constructor(named: string, refusal?: RequestFailure) {
    super(`It is not known whether ${named} arrived.`)
    this.named = named
    this.refusal = refusal
  }
}

/** Returns the service's refusal, and what is known of the decision: a refused look does not tell whether it arrived. */
export function refusedIn(error: unknown): { failure: unknown; recorded: string } {
  return error instanceof UnknownOutcome
    ? { failure: error.refusal, recorded: error.message }
    : { failure: error, recorded: 'Nothing was recorded.' }
}

/** How to find out the outcome of a decision whose answer was lost. */
export interface Lost {
  /** Checks whether the decision is recorded, or can no longer be recorded. @throws while the service does not answer */
  look(): Promise<boolean>
  /** Shows what `look` found. */
  found(): Promise<void>
}

/**
 * Sends a decision, and shows that until the answer arrives.
 * @param named such as "your approval"
 * @throws RequestFailure when the service refused; UnknownOutcome when it may have been recorded
 */
export async function sendWord<T>(named: string, slot: NoticeSlot, post: () => Promise<T>): Promise<T> {
  slot.show('working', `Sending ${named} …`)
  try {
    return await post()
  } catch (error) {
    if (isRefusal(error)) throw error
    throw new UnknownOutcome(named)
  } finally {
    slot.clear()
  }
}

/** Checks whether the service itself refused. An error from a proxy in between does not tell whether the decision arrived. */
function isRefusal(error: unknown): error is RequestFailure {
  return (
    error instanceof RequestFailure && error.code !== 'unknown' && error.status >= 400 && error.status < 500
  )
}

const PAUSE_MS = 2000

/** Number of looks, since a decision may arrive after the first one. */
const LOOKS = 3

/** Looks until the service tells the outcome of the decision, and shows it. @throws UnknownOutcome when the service refuses */
export async function findOut({ named }: UnknownOutcome, slot: NoticeSlot, lost: Lost): Promise<void> {
  slot.show('working', `Not known yet whether ${named} arrived. Checking …`)
  for (let absent = 0; absent < LOOKS; ) {
    if (absent > 0) await pause()
    const arrived = await lost.look().catch((error: unknown) => {
      if (isRefusal(error)) throw new UnknownOutcome(named, error)
    })
    if (arrived === true) return lost.found()
    if (arrived === false) absent += 1
    else await pause()
  }
  slot.show(
    'warning',
    `${named} did not arrive: the service has recorded nothing. Press again if you still want to decide.`,
  )
}

/** Waits between two looks, but no longer than until the connection is back. */
function pause(): Promise<void> {
  return new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer)
      removeEventListener('online', over)
      resolve()
    }
    const timer = setTimeout(over, PAUSE_MS)
    addEventListener('online', over)
  })
}
