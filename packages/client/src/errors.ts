/**
 * Why nothing was done. Every error of the client is one of these; what the guarded function throws passes through unchanged.
 */
export abstract class CountersignError extends Error {
  /** The request (`req_…`); absent when the service never said one. */
  readonly id: string | undefined

  /** @param details become properties; `cause` is what went wrong underneath */
  constructor(sentence: string, id?: string, details?: object) {
    super(`Not done: ${sentence}`)
    this.id = id
    Object.assign(this, details)
  }

  /** For the model: what happened and what to do next. */
  get sentence(): string {
    return this.message
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
  declare readonly comment: string | null
}

/** Nobody decided before the request expired, or the approval was not used in time. */
export class Expired extends CountersignError {
  override readonly name = 'Expired'
}

/** The request was withdrawn before anyone decided. */
export class Withdrawn extends CountersignError {
  override readonly name = 'Withdrawn'
}

/** The approval was used before: at most one run for each approval. */
export class Used extends CountersignError {
  override readonly name = 'Used'
}

/** What is about to run is not what was approved. */
export class Mismatch extends CountersignError {
  override readonly name = 'Mismatch'
  /** What differs, in the service's name for it. */
  declare readonly field?: string
}

/** The sandbox decided, and no person. */
export class Sandbox extends CountersignError {
  override readonly name = 'Sandbox'
}

/** Nobody has decided within the caller's own time; the request still waits. */
export class Pending extends CountersignError {
  override readonly name = 'Pending'
  /** Where a person decides. */
  declare readonly reviewUrl: string
  /** For `resume`. */
  declare readonly resume: string
}

/** The service did not answer, or something else did. Says nothing about a decision. */
export class Unreachable extends CountersignError {
  override readonly name = 'Unreachable'
}

/** The service answered with an error that repeating does not mend. */
export class Refused extends CountersignError {
  override readonly name = 'Refused'
  /** The service's error code (docs/errors.md). */
  declare readonly code: string
  declare readonly status: number
  /** The whole error answer. */
  declare readonly body: Readonly<Record<string, unknown>>
}

/** The sentences that more than one place says. */
export const used = (id?: string): Used =>
  new Used(
    'this approval was used before, so it may have been done. Check; to do it once more, ask in a new call.',
    id,
  )

export const mismatch = (id?: string, details?: object): Mismatch =>
  new Mismatch('this is not what the person was asked. Ask in a new call.', id, details)

export const unreachable = (why: string, id?: string, cause?: unknown): Unreachable =>
  new Unreachable(
    `the approval service cannot be reached (${why}), which is no decision. Repeat the same call later.`,
    id,
    { cause },
  )

export const sandbox = (id?: string): Sandbox =>
  new Sandbox('no person decides about this sandbox key. Tell the operator to set a live key.', id)
