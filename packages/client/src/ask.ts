import {
  Expired,
  Invalid,
  Mismatch,
  Pending,
  Refused,
  Rejected,
  Sandbox,
  Unreachable,
  Used,
  Withdrawn,
} from './errors.ts'
import { canonicalText, copyJson, digest, type Json } from './json.ts'
import type { Schemas } from './rest.ts'
import { type Body, type Limits, type Peer, send, sleep } from './send.ts'

/** The service, and whether the sandbox's word counts. */
export interface Approvals extends Peer {
  allowSandbox: boolean
}

/** How long a caller waits for a person. */
export interface Patience {
  /** Seconds in all; then the outcome is `pending`. Without it, until the request is decided, expired or withdrawn. */
  withinSeconds?: number | undefined
  /** Ends the waiting with its reason; the request stays. */
  signal?: AbortSignal | undefined
}

/** The run and the call within it, as your program names them: any text. The same two ask the same question, and find its answer. */
export type For = readonly [run: string, call: string]

/** A request that was just made, or found again. */
export interface Asked {
  id: string
  /** The page on which a person decides. */
  reviewUrl: string
}

export interface AskOptions extends Patience {
  for: For
  /** Seconds until the request expires, 60 to 604,800. The same for every ask of one run and call: never a remaining time. */
  ttlSeconds?: number | undefined
  /** Further fields of the request, as in the service's reference. */
  fields?: Omit<Schemas['CreateRequest'], 'action' | 'context' | 'ttl_seconds'> | undefined
  /** Called once the request is there, before the wait. */
  onAsked?: ((asked: Asked) => void) | undefined
}

export interface Question extends AskOptions {
  /** In words, at most 500 characters: what a person approves. */
  action: string
  /** The particulars; shown in full, and compared when the approval is used. */
  context?: Readonly<Record<string, unknown>> | undefined
}

/** An approval, used up. */
export interface Use {
  id: string
  decisionId: string
  usedAt: string
}

/** An approval that nobody has used yet. */
export interface Approval {
  status: 'approved'
  id: string
  /** What was approved: run exactly this. */
  action: string
  context: { readonly [name: string]: Json }
  /** The whole answer of the service, with the signed receipt: for `@countersign/client/verify`. */
  receipt: Schemas['ApprovedApproval']
  /**
   * Uses the approval, once. Call it last before acting, and act only if it returns.
   * @throws Used, Mismatch, Sandbox, Expired, Refused; Unreachable, after which it may be called again
   */
  use(limits?: Patience): Promise<Use>
}

/** What became of a request. There is no boolean to mistake: only `approved` has `use`. */
export type Outcome =
  | Approval
  | { status: 'rejected'; id: string; comment: string | null }
  | { status: 'expired' | 'withdrawn'; id: string }
  /** Approved, and used up `at` that time. */
  | { status: 'used'; id: string; at: string }
  | { status: 'pending'; id: string; reviewUrl: string; resume: string }

/** Seconds that one wait stays open. */
const ROUND = 25

/** ms between looks at a request whose wait is not held open. */
const LOOK = 3_000

const API = '/api/v1/approvals/'

/** Asks a person, and waits. @throws Invalid, Sandbox, Refused, Unreachable, Mismatch, or the signal's reason */
export async function ask(peer: Approvals, question: Question): Promise<Outcome> {
  const { action, ttlSeconds, fields, onAsked, signal } = question
  const context = copyContext(question.context)
  if (typeof action !== 'string' || action === '')
    throw new Invalid('The action is no text. Say in words what shall be done.')
  const content = canonicalText({ action, context })
  const body = copyJson({ ...fields, ttl_seconds: ttlSeconds, action, context }, 'The request')
  const limits = limitsOf(question)
  const made = await send(
    peer,
    {
      method: 'POST',
      path: `${API}request`,
      body: canonicalText(body),
      idempotencyKey: await digest(canonicalText([...checkFor(question.for), content])),
    },
    limits,
  ).catch((error: unknown) => {
    if (error instanceof Refused && error.code === 'idempotency_mismatch')
      throw new Mismatch(undefined, 'request', error)
    throw error
  })
  const id = text(made?.id ?? made?.request_id)
  if (made?.sandbox && !peer.allowSandbox) throw new Sandbox(id)
  onAsked?.({ id, reviewUrl: reviewUrl(peer, id, made) })
  return outcomeOf(peer, await closed(peer, { ...limits, id }), {
    id,
    content: await digest(content),
    signal,
  })
}

/**
 * Waits for a request that was made earlier.
 * @param handle the `resume` of a pending outcome, by which a changed request is noticed, or the id of a request
 */
export async function resume(peer: Approvals, handle: string, patience: Patience = {}): Promise<Outcome> {
  const [, id, content] = /^(req_\w+)(?:\.([\w-]{43}))?$/.exec(handle) ?? []
  if (id === undefined)
    throw new Invalid('This is neither the id of a request nor what `resume` of a pending outcome held.')
  return outcomeOf(peer, await closed(peer, { ...limitsOf(patience), id }), {
    id,
    content,
    signal: patience.signal,
  })
}

/** @throws what stands for an outcome that is no approval */
export function insist(outcome: Outcome): Approval {
  const { id } = outcome
  switch (outcome.status) {
    case 'approved':
      return outcome
    case 'rejected':
      throw new Rejected(id, outcome.comment)
    case 'expired':
      throw new Expired(id)
    case 'withdrawn':
      throw new Withdrawn(id)
    case 'used':
      throw new Used(id)
    case 'pending':
      throw new Pending(id, outcome.reviewUrl, outcome.resume)
  }
}

/** @throws Invalid unless it is a pair of texts: without the caller's own names, two calls would share one answer */
function checkFor(names: unknown): readonly string[] {
  const isText = (name: unknown) => typeof name === 'string' && name !== ''
  if (Array.isArray(names) && names.length === 2 && names.every(isText)) return names
  throw new Invalid('`for` must be [run, call], two texts that name this run and this call in it.')
}

function copyContext(context: unknown = {}): { readonly [name: string]: Json } {
  const copy = copyJson(context, 'The context')
  if (copy === null || typeof copy !== 'object' || Array.isArray(copy))
    throw new Invalid('The context must be an object.')
  return copy as { readonly [name: string]: Json }
}

function limitsOf({ withinSeconds = Number.POSITIVE_INFINITY, signal }: Patience): Limits {
  if (!(withinSeconds >= 0)) throw new Invalid('withinSeconds must be a number of seconds.')
  return { end: performance.now() + withinSeconds * 1000, signal }
}

/** Reads the request until it is no longer pending, or the time is over. */
async function closed(peer: Approvals, limits: Limits & { id: string }): Promise<Body> {
  const path = `${API}${limits.id}`
  let crowded = false
  for (let pending: Body; ; ) {
    const started = performance.now()
    const seconds = crowded ? 0 : Math.floor(Math.min(ROUND, (limits.end - started) / 1000))
    const call = { method: 'GET', path: seconds > 0 ? `${path}/wait?timeout=${seconds}` : path }
    try {
      const read = await send(peer, { ...call, timeout: (seconds + 15) * 1000 }, limits)
      if (read?.id !== limits.id) throw new Unreachable('it answers about another request', limits.id)
      if (read.sandbox && !peer.allowSandbox) throw new Sandbox(limits.id)
      if (read.status !== 'pending') return read
      pending = read
      crowded = false
    } catch (error) {
      const busy = error instanceof Refused && error.status === 429
      // Others hold all places for waits of this key: look once, and wait again later.
      crowded = busy && error.code === 'too_many_waits'
      if (crowded) continue
      if (busy && pending && limits.end - started < peer.patience) return pending
      throw error
    }
    const left = limits.end - performance.now()
    if (left <= 0) return pending
    // A service that is stopping answers at once: it shall not be asked without end.
    if (performance.now() - started < 1000) await sleep(Math.min(LOOK, left), limits.signal)
  }
}

async function outcomeOf(
  peer: Approvals,
  read: Body,
  { id, content, signal }: { id: string; content: string | undefined; signal: AbortSignal | undefined },
): Promise<Outcome> {
  // The shape is the service's own; each field that matters is looked at.
  const answer = read as Schemas['Approval']
  const { status, action } = answer
  if (status === 'rejected') return { status, id, comment: answer.decision.comment }
  if (status === 'expired') return { status: answer.cancelled ? 'withdrawn' : status, id }
  if (status !== 'approved' && status !== 'pending') throw new Unreachable(`it answers ${status}`, id)
  const context = copyContext(answer.context)
  const found = await digest(canonicalText({ action, context }))
  if (content !== undefined && found !== content) throw new Mismatch(id)
  if (status === 'pending')
    return { status, id, reviewUrl: reviewUrl(peer, id, read), resume: `${id}.${found}` }
  if (answer.consumed_at !== undefined) return { status: 'used', id, at: answer.consumed_at }
  return { status, id, action, context, receipt: answer, use: useOnce(peer, { id, action, context }, signal) }
}

/** At most one call of what it returns succeeds, and in all processes together at most one for each approval. */
function useOnce(
  peer: Approvals,
  { id, action, context }: Pick<Approval, 'id' | 'action' | 'context'>,
  asking: AbortSignal | undefined,
): Approval['use'] {
  // Drawn anew for each outcome: a repeat after a lost answer gets that answer, and another process never does.
  const idempotencyKey = crypto.randomUUID()
  const body = canonicalText({ action, context, ...(!peer.allowSandbox && { refuse_sandbox: true }) })
  let taken = false
  return async ({ withinSeconds, signal = asking } = {}) => {
    if (taken) throw new Used(id)
    taken = true
    const limits = { ...limitsOf({ withinSeconds, signal }), id }
    const used = await send(
      peer,
      { method: 'POST', path: `${API}${id}/consume`, body, idempotencyKey },
      limits,
    ).catch((error: unknown) => {
      // Nobody knows whether it is used up: the same key may ask again.
      taken = error instanceof Refused
      throw unused(error, id)
    })
    if (used?.request_id !== id) throw new Unreachable('it answers about another request', id)
    if (used.sandbox && !peer.allowSandbox) throw new Sandbox(id)
    return { id, decisionId: text(used.decision_id), usedAt: text(used.consumed_at) }
  }
}

function unused(error: unknown, id: string): unknown {
  if (!(error instanceof Refused)) return error
  const { code, body } = error
  if (code === 'already_consumed') return new Used(id)
  if (code === 'mismatch') return new Mismatch(id, text(body.field), error)
  return error
}

/** The service says it; one from before it did has its pages at the address of its API. */
function reviewUrl({ url }: Peer, id: string, answer: Body): string {
  return text(answer?.review_url) || `${url}/a/${id}`
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
