import { RequestFailure } from '../api/request.ts'
import type { NoticeSlot } from '../dom/notice.ts'

/** A word was sent, and no answer says what came of it: it may be recorded. */
export class UnknownOutcome extends Error {
  override readonly name = 'UnknownOutcome'
  /** Such as "your approval". */
  readonly named: string
  /** What the service said when it was asked for the outcome; undefined while it may still be asked. */
  readonly refusal: RequestFailure | undefined

  constructor(named: string, refusal?: RequestFailure) {
    super(`It is not known whether ${named} arrived.`)
    this.named = named
    this.refusal = refusal
  }
}

/** What the service refused, and what is known of the word all the same: a refused look says nothing of what arrived. */
export function refusedIn(error: unknown): { failure: unknown; recorded: string } {
  return error instanceof UnknownOutcome
    ? { failure: error.refusal, recorded: error.message }
    : { failure: error, recorded: 'Nothing was recorded.' }
}

/** How to find out what came of a word whose answer was lost. */
export interface Lost {
  /** Is it recorded, or can it not be recorded any more? @throws while the service does not answer */
  look(): Promise<boolean>
  /** Shows what `look` found. */
  found(): Promise<void>
}

/**
 * Sends what decides, and says so from the press to the answer.
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

/** The service itself said no. An answer of something between here and there says nothing of what arrived. */
function isRefusal(error: unknown): error is RequestFailure {
  return (
    error instanceof RequestFailure && error.code !== 'unknown' && error.status >= 400 && error.status < 500
  )
}

const PAUSE_MS = 2000

/** A word may arrive after the first look for it. */
const LOOKS = 3

/** Looks until the service says what it knows of the word, and shows that. @throws UnknownOutcome when it refuses to say */
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
    `${named} did not arrive: the service has recorded nothing. Press again if you still want it.`,
  )
}

/** Ends at once when the connection is back. */
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
