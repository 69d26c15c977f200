import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Approvals, aboutOf, insist, type Outcome, resume } from '../../src/ask.ts'
import { type Attachment, attach } from '../../src/attachments.ts'
import { CountersignError, Invalid, Refused, Unreachable } from '../../src/errors.ts'
import { canonical, digest, type Json, type JsonObject } from '../../src/json.ts'
import { now, send } from '../../src/send.ts'
import { watchDecisions } from './watch-decisions.ts'

/** Seconds for which a question, and then the use of its approval, are repeated while the service is away. */
const ASK_SECONDS = 15
const USE_SECONDS = 5
const PROGRESS_MS = 10_000
const LOOK_AGAIN_MS = 3000
/** Calls of the service at once. */
const MOST_CALLS = 8

/** What a person is asked about a call. */
export interface Question {
  action: string
  context: JsonObject
  attachments?: readonly Attachment[]
  ttlSeconds: number
  useWithinSeconds: number
}

/** One call of the client that waits for a person. */
export interface Caller {
  /** Everything in which calls can differ, also what the question shows in another form: only equal ones are one call. */
  exact: Json
  /** How long it is held. */
  holdSeconds: number
  /** Aborts when the client cancels the call. */
  signal: AbortSignal
  /** Hears every few seconds that the call still waits, and where a person decides. */
  progress?: ((reviewUrl: string | undefined) => void) | undefined
  refuse(sentence: string): void
  forward(): void
}

/** Calls with the same question, which wait together. */
interface Group {
  /** With what ends their waiting; the last one came last. */
  callers: Map<Caller, () => void>
  stop: AbortController
  /** What is known so far, for those who leave before the decision. */
  state: string
  /** Where a person decides, once that is known. */
  reviewUrl?: string
  /** The approval is being used: nobody is sent away any more. */
  using: boolean
}

/** Where calls wait for a person. */
export interface Desk {
  /** Asks, unless an equal call waits already. */
  wait(question: Question, caller: Caller, check: Check): Promise<void>
  close(): void
}

/** Throws if the rule or the tool is no longer that which a person was asked about. @param used the approval is used up by now */
type Check = (used: boolean) => Promise<void> | void

/** @param say tells the operator */
export function openDesk(peer: Approvals, say: (words: string) => void): Desk {
  const watch = watchDecisions(peer)
  const groups = new Map<string, Group>()
  // A thousand connections at once would hold a hundred megabytes, and would not be faster.
  const inTurn = takeTurns(MOST_CALLS)

  const decide = async (question: Question, group: Group): Promise<Outcome> => {
    const { signal } = group.stop
    let since = watch.since()
    const { id, handle, reviewUrl } = await inTurn(() => ask(peer, question, signal))
    if (reviewUrl !== undefined) {
      tellWaiting(group, { status: 'pending', id, reviewUrl, resume: handle })
      await watch.changed(id, signal, since)
    }
    for (;;) {
      signal.throwIfAborted()
      since = watch.since()
      const outcome = await inTurn(() => look(peer, handle, signal))
      if (outcome && outcome.status !== 'pending') return outcome
      if (outcome) tellWaiting(group, outcome)
      // With a stream there is a service, and what was just missed may be no news to come.
      if (outcome === undefined && watch.since()) await sleep(LOOK_AGAIN_MS, undefined, { signal })
      else await watch.changed(id, signal, since)
    }
  }

  const settle = async (question: Question, group: Group, check: Check): Promise<void> => {
    const approval = insist(await decide(question, group))
    await check(false)
    group.using = true
    await inTurn(() => approval.use({ withinSeconds: USE_SECONDS }))
    await check(true)
  }

  return {
    close: watch.close,
    async wait(question, caller, check) {
      // In one go: a cancellation meanwhile would not be heard, and calls would overtake each other.
      if (caller.signal.aborted) return
      const key = createHash('sha256')
        .update(canonical([question.action, question.context, caller.exact]))
        .digest('hex')
      const found = groups.get(key)
      const group = found ?? makeGroup()
      const leave = (): void => {
        group.callers.get(caller)?.()
        group.callers.delete(caller)
        if (group.callers.size > 0 || group.using) return
        // The request stays: a later approval serves the next equal call.
        groups.delete(key)
        group.stop.abort()
      }
      group.callers.set(caller, hold(caller, group, leave))
      if (found) return
      groups.set(key, group)
      const end = (error?: unknown): void => {
        if (group.stop.signal.aborted) return
        groups.delete(key)
        if (error !== undefined && !(error instanceof CountersignError)) say(String(error))
        dismiss(group, error === undefined ? undefined : sentenceIn(error))
      }
      await settle(question, group, check).then(() => end(), end)
    },
  }
}

/** Lets one call go on, and sends the others away; with a refusal, all. */
function dismiss({ callers }: Group, refusal?: string): void {
  for (const stopHolding of callers.values()) stopHolding()
  const all = [...callers.keys()]
  callers.clear()
  // The last one: who repeats a call no longer waits for the first.
  if (refusal === undefined) all.pop()?.forward()
  for (const one of all) one.refuse(refusal ?? JOINED)
}

function makeGroup(): Group {
  return { callers: new Map(), stop: new AbortController(), state: NOT_ASKED, using: false }
}

const NOT_ASKED =
  'Not done: the approval service has not answered yet, which is no decision. Repeat the same call later.'
const JOINED =
  'Not done a second time: an equal call waited for the same approval and was done. An approval is for one call; to do it once more, call again.'

function tellWaiting(group: Group, outcome: Extract<Outcome, { status: 'pending' }>): void {
  const isNews = group.reviewUrl === undefined
  group.state = sentenceOf(outcome)
  group.reviewUrl = outcome.reviewUrl
  if (isNews) for (const { progress } of group.callers.keys()) progress?.(group.reviewUrl)
}

/** Sends the caller away when its time is over. @returns what ends that */
function hold(caller: Caller, group: Group, leave: () => void): () => void {
  const { progress, signal, refuse, holdSeconds } = caller
  const beat = progress && setInterval(() => progress(group.reviewUrl), PROGRESS_MS)
  const over = setTimeout(() => {
    if (group.using) return
    leave()
    refuse(group.state)
  }, holdSeconds * 1000)
  signal.addEventListener('abort', leave, { once: true })
  return () => {
    clearInterval(beat)
    clearTimeout(over)
    signal.removeEventListener('abort', leave)
  }
}

/** A request that was made, or joined. */
interface Asked {
  id: string
  /** What `resume` takes, by which a changed request is noticed. */
  handle: string
  /** Known at once of a request that is new; of any other it first has to be read what has become of it. */
  reviewUrl: string | undefined
}

/** Asks, or joins an equal request that is still open. */
async function ask(peer: Approvals, question: Question, signal: AbortSignal): Promise<Asked> {
  const { action, context, attachments = [], ttlSeconds, useWithinSeconds } = question
  const about = aboutOf({ action, context }, await attach(attachments))
  const body = {
    ...{ action, context, ...(attachments[0] && { attachments }) },
    ...{ reuse: 'open', ttl_seconds: ttlSeconds, use_within_seconds: useWithinSeconds },
  }
  const call = { path: '/api/v1/approvals/request', body, once: randomUUID() }
  const made = await send(peer, { end: now() + ASK_SECONDS * 1000, signal }, call)
  const id = String(made.id ?? made.request_id)
  const isNew = made.status === 'pending' && !made.reused && !made.sandbox
  const reviewUrl = isNew && typeof made.review_url === 'string' ? made.review_url : undefined
  return { id, handle: `${id}.${await digest(about)}`, reviewUrl }
}

/** Reads the request once. @returns undefined if that is not possible right now: then it still waits */
async function look(peer: Approvals, handle: string, signal: AbortSignal): Promise<Outcome | undefined> {
  try {
    return await resume(peer, handle, { withinSeconds: 0, signal })
  } catch (error) {
    const passes = error instanceof Unreachable || (error instanceof Refused && error.status === 429)
    if (passes) return undefined
    throw error
  }
}

/** What stands for an outcome that is no approval. */
function sentenceOf(outcome: Outcome): string {
  try {
    insist(outcome)
    return ''
  } catch (error) {
    return sentenceIn(error)
  }
}

/** For the model. What is no error of the client says nothing that may be told. */
export function sentenceIn(error: unknown): string {
  const known = error instanceof CountersignError ? error : new Invalid('the gateway failed. Tell the user.')
  return known.sentence
}

/** Lets at most so many tasks run at once; the others wait for their turn, in order. */
function takeTurns(most: number): <T>(task: () => Promise<T>) => Promise<T> {
  const queue: (() => void)[] = []
  let running = 0
  return async (task) => {
    if (running >= most) await new Promise<void>((resolve) => queue.push(resolve))
    else running += 1
    try {
      return await task()
    } finally {
      const next = queue.shift()
      if (next) next()
      else running -= 1
    }
  }
}
