/**
 * Why nothing was done. Every error of the client is one of these; what the guarded function throws passes through unchanged.
 */
export abstract class CountersignError extends Error {
  /** For the model: what happened and what to do next. Equal to `message`. */
  readonly sentence: string
  /** The request (`req_…`); absent when the service never said one. */
  readonly id: string | undefined

  constructor(sentence: string, id?: string, cause?: unknown) {
    super(sentence, cause === undefined ? undefined : { cause })
    this.sentence = sentence
    this.id = id
  }
}

/** The call itself is wrong: nothing was sent. */
export class Invalid extends CountersignError {
  override readonly name = 'Invalid'
}

/** A person said no. */
export class Rejected extends CountersignError {
  override readonly name = 'Rejected'
  /** What they wrote; null for nothing. */
  readonly comment: string | null

  constructor(id: string, comment: string | null) {
    const why = comment ? `, and wrote: ${JSON.stringify(comment)}` : ''
    super(
      `A person rejected this${why}. It was not done. Do not do it in any other way and do not ask for it again; tell the user, or propose something else.`,
      id,
    )
    this.comment = comment
  }
}

/** Nobody decided before the request expired, or the approval was not used in time. */
export class Expired extends CountersignError {
  override readonly name = 'Expired'

  constructor(id: string) {
    super(
      'The time for this request is over: it was neither approved in time nor refused. It was not done. If it is still needed, ask in a new call.',
      id,
    )
  }
}

/** The request was withdrawn before anyone decided. */
export class Withdrawn extends CountersignError {
  override readonly name = 'Withdrawn'

  constructor(id: string) {
    super(
      'This request was withdrawn before anyone decided. It was not done. Ask the user whether it is still wanted.',
      id,
    )
  }
}

/** The approval was used before: at most one run for each approval. */
export class Used extends CountersignError {
  override readonly name = 'Used'

  constructor(id: string) {
    super(
      'This approval was already used, so it may have been done before; it was not done now. Check what became of it. If it must be done once more, ask in a new call.',
      id,
    )
  }
}

/** What is about to run is not what was approved. */
export class Mismatch extends CountersignError {
  override readonly name = 'Mismatch'
  /** What differs, in the service's name for it. */
  readonly field: string | undefined

  constructor(id: string | undefined, field?: string, cause?: unknown) {
    const what = field === undefined ? 'This' : `The ${field} of this`
    super(
      `${what} differs from what the person was asked about. It was not done. Ask in a new call, with exactly what shall be done.`,
      id,
      cause,
    )
    this.field = field
  }
}

/** The sandbox decided, and no person. */
export class Sandbox extends CountersignError {
  override readonly name = 'Sandbox'

  constructor(id?: string) {
    super(
      'This API key is of the sandbox: no person decides there. It was not done. The operator must set a live key, or allowSandbox in a test.',
      id,
    )
  }
}

/** Nobody has decided within the caller's own time; the request still waits. */
export class Pending extends CountersignError {
  override readonly name = 'Pending'
  /** Where a person decides. */
  readonly reviewUrl: string
  /** For `resume`. */
  readonly resume: string

  constructor(id: string, reviewUrl: string, resume: string) {
    super(
      `Nobody has decided yet, which is no refusal. It was not done. A person can decide at ${reviewUrl}; repeat the same call later to go on waiting.`,
      id,
    )
    this.reviewUrl = reviewUrl
    this.resume = resume
  }
}

/** The service did not answer, or something else did. Says nothing about a decision. */
export class Unreachable extends CountersignError {
  override readonly name = 'Unreachable'

  constructor(why: string, id?: string, cause?: unknown) {
    super(
      `The approval service cannot be reached (${why}). This is neither an approval nor a refusal, and it was not done. Tell the user; repeat the same call when the service is back.`,
      id,
      cause,
    )
  }
}

/** The service answered with an error that repeating does not mend. */
export class Refused extends CountersignError {
  override readonly name = 'Refused'
  /** The service's error code (docs/errors.md). */
  readonly code: string
  readonly status: number
  /** The whole error answer. */
  readonly body: Readonly<Record<string, unknown>>

  constructor(status: number, body: Readonly<Record<string, unknown>>, id?: string) {
    const { error, message } = body
    const said = typeof message === 'string' ? message : ''
    super(
      `The approval service refused the call: ${said} (${String(error)}). It was not done. Tell the user.`,
      id,
    )
    this.code = String(error)
    this.status = status
    this.body = body
  }
}
