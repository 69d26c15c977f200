import { type Attachment, attach, type Hashed } from './attachments.ts'
import {
  Expired,
  Invalid,
  mismatch,
  Pending,
  Refused,
  Rejected,
  sandbox,
  unreachable,
  used,
  Withdrawn,
} from './errors.ts'
import { copyJson, digest, type JsonObject } from './json.ts'
import type { Schemas } from './rest.ts'
import { type Body, type Limits, now, type Peer, send, sleep } from './send.ts'

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
  fields?: Omit<Schemas['CreateRequest'], 'action' | 'context' | 'ttl_seconds' | 'attachments'> | undefined
  /** Called once the request is there, before the wait: for which it costs a call more. */
  onAsked?: ((asked: Asked) => void) | undefined
}

export interface Question extends AskOptions {
  /** In words, at most 500 characters: what a person approves. */
  action: string
  /** The particulars; shown in full, and compared when the approval is used. */
  context?: Readonly<Record<string, unknown>> | undefined
  /** What is too long for the context, such as a file to be written; compared by hash when the approval is used. */
  attachments?: readonly Attachment[] | undefined
}

export interface UseOptions extends Patience {
  /** What is about to be used, where it is read anew: refused unless it is what was approved, in the same order. */
  attachments?: readonly Attachment[] | undefined
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
  context: JsonObject
  /** The whole answer of the service, with the signed receipt: for `@countersign/client/verify`. */
  receipt: Schemas['ApprovedApproval']
  /**
   * Uses the approval, once. Call it last before acting, and act only if it returns.
   * @throws Used, Mismatch, Sandbox, Expired, Refused; Unreachable, after which it may be called again
   */
  use(options?: UseOptions): Promise<Use>
}

/** What became of a request. There is no boolean to mistake: only `approved` has `use`. */
export type Outcome =
  | Approval
  | { status: 'rejected'; id: string; comment: string | null }
  | { status: 'expired' | 'withdrawn'; id: string }
  /** Approved, and used up `at` that time. */
  | { status: 'used'; id: string; at: string }
  | { status: 'pending'; id: string; reviewUrl: string; resume: string }

/** A request that is being waited for; `content` is the digest of what it must be about. */
interface Open extends Limits {
  id: string
  content: string | undefined
}

const API = '/api/v1/approvals/'

/** Asks a person, and waits. @throws Invalid, Sandbox, Refused, Unreachable, Mismatch, or the signal's reason */
export async function ask(peer: Approvals, question: Question): Promise<Outcome> {
  const { action, ttlSeconds, fields, onAsked, for: names, context = {}, attachments = [] } = question
  // Without the caller's own names, two calls would share one answer.
  if (!Array.isArray(names) || names.length !== 2 || !names.every(isText))
    throw new Invalid('`for` must be [run, call], two texts that name this run and this call in it.')
  if (!isText(action) || Object(context) !== context || Array.isArray(context))
    throw new Invalid('the action must be a text, and the context an object.')
  // By which no hash would be compared.
  if (Object(fields).attachments) throw new Invalid('`attachments` are no field, but an option of their own.')
  const content = { action, context }
  const copy = copyJson({ ...fields, ttl_seconds: ttlSeconds, ...content }, 'the request') as JsonObject
  const limits = limitsOf(question)
  const attached = await attach(attachments)
  const about = aboutOf(copy, attached)
  const once = await digest([...names, about])
  const since = now()
  const sent = attached.map(({ sha256: _, ...one }) => one)
  const body = { ...copy, attachments: sent[0] && sent }
  const call = { path: `${API}request`, wait: onAsked ? undefined : '?wait=', body, once }
  const made = await send(peer, limits, call).catch((error) => {
    throw namedFor(error)
  })
  const open = { ...limits, id: String(made.id ?? made.request_id), content: await digest(about) }
  checkSandbox(peer, made, open.id)
  onAsked?.({ id: open.id, reviewUrl: reviewUrl(peer, made, open) })
  return wait(peer, open, since, made.approval)
}

/**
 * Waits for a request that was made earlier.
 * @param handle the `resume` of a pending outcome, by which a changed request is noticed, or the id of a request
 */
export async function resume(peer: Approvals, handle: string, patience: Patience = {}): Promise<Outcome> {
  const [, id, content] = /^(req_\w+)(?:\.([\w-]{43}))?$/.exec(handle) ?? []
  if (!id) throw new Invalid('resume takes the id of a request, or what `resume` of a pending outcome held.')
  return wait(peer, { ...limitsOf(patience), id, content })
}

/** @throws what stands for an outcome that is no approval */
export function insist(outcome: Outcome): Approval {
  const { id, status } = outcome
  switch (status) {
    case 'approved':
      return outcome
    case 'rejected': {
      const { comment } = outcome
      const words = comment ? ` and wrote ${JSON.stringify(comment)}` : ''
      throw new Rejected(
        `a person rejected this${words}. Do not do it in another way and do not ask for it again; tell the user.`,
        id,
        { comment },
      )
    }
    case 'used':
      throw used(id)
    case 'pending':
      throw new Pending(
        `nobody has decided yet, which is no refusal. A person can decide at ${outcome.reviewUrl}; repeat the same call later.`,
        id,
        outcome,
      )
    default:
      throw lapsed(status, id)
  }
}

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function limitsOf({ withinSeconds = Number.POSITIVE_INFINITY, signal }: Patience): Limits {
  if (!(withinSeconds >= 0)) throw new Invalid('withinSeconds must be a number of seconds.')
  return { end: now() + withinSeconds * 1000, signal }
}

/** Reads the request until it is no longer pending, or the time is over. @param found as the call said that made it, begun at `since` */
async function wait(peer: Approvals, open: Open, since = now(), found?: unknown): Promise<Outcome> {
  const path = API + open.id
  let pending: Outcome | undefined
  let crowded = false
  for (let started = since; ; started = now()) {
    try {
      const call = { method: 'GET', path, wait: crowded ? undefined : '/wait?timeout=' }
      const read = found ? Object(found) : await send(peer, open, call)
      found = undefined
      const outcome = await outcomeOf(peer, read, open)
      if (outcome.status !== 'pending' || now() >= open.end) return outcome
      pending = outcome
      crowded = false
    } catch (error) {
      const busy = error instanceof Refused && error.status === 429
      // Others hold all places for waits of this key: look once, and wait again later.
      crowded = busy && error.code === 'too_many_waits'
      if (crowded) continue
      if (busy && pending && open.end - started < peer.patience) return pending
      throw error
    }
    // A service that is stopping answers at once: it shall not be asked without end.
    if (now() - started < 1000) await sleep(Math.min(3000, open.end - now()), open.signal)
  }
}

async function outcomeOf(peer: Approvals, read: Body, open: Open): Promise<Outcome> {
  const { id, content, signal } = open
  checkAbout(read.id, id)
  checkSandbox(peer, read, id)
  // The service's own tests hold every answer to its document; what decides is compared below.
  const answer = read as Schemas['Approval']
  const { status, action } = answer
  if (status === 'rejected') return { status, id, comment: answer.decision.comment }
  if (status === 'expired') return { status: answer.cancelled ? 'withdrawn' : status, id }
  if (status !== 'approved' && status !== 'pending') throw unreachable(`it answers ${status}`, id)
  const { attachments = [] } = answer
  const about = aboutOf(answer, attachments)
  const found = await digest(about)
  if (content && found !== content) throw mismatch(id)
  if (status === 'pending')
    return { status, id, reviewUrl: reviewUrl(peer, read, open), resume: `${id}.${found}` }
  if (answer.consumed_at) return { status: 'used', id, at: answer.consumed_at }
  const context = about.context as JsonObject
  const use = useOnce(peer, id, { action, context }, attachments, signal)
  return { status, id, action, context, receipt: answer, use }
}

/** What a request is found and recognised by. */
export function aboutOf(
  { action, context }: Readonly<Record<string, unknown>>,
  attached: readonly Hashed[],
): JsonObject {
  const attachments = attached[0] && attached.map(({ name, sha256, base }) => ({ name, sha256, base }))
  return copyJson({ action, context, attachments }, 'the request') as JsonObject
}

/** At most one call of what it returns succeeds, and in all processes together at most one for each approval. */
function useOnce(
  peer: Approvals,
  id: string,
  content: object,
  approved: readonly Hashed[],
  asking: AbortSignal | undefined,
): Approval['use'] {
  // Drawn anew for each outcome: a repeat after a lost answer gets that answer, and another process never does.
  const once = crypto.randomUUID()
  let taken = false
  return async ({ withinSeconds, signal = asking, attachments } = {}) => {
    const limits = { ...limitsOf({ withinSeconds, signal }), id }
    if (taken) throw used(id)
    taken = true
    try {
      const attached = attachments ? await attach(attachments) : approved
      const body = {
        ...content,
        attachments_sha256: attached.map(({ sha256 }) => sha256),
        refuse_sandbox: !peer.allowSandbox || undefined,
      }
      const use = await send(peer, limits, { path: `${API + id}/consume`, body, once })
      checkAbout(use.request_id, id)
      checkSandbox(peer, use, id)
      return { id, decisionId: String(use.decision_id), usedAt: String(use.consumed_at) }
    } catch (error) {
      // Nobody has acted on it here, so the same key may ask again, and learns whether it was used up.
      taken = false
      throw namedFor(error, id)
    }
  }
}

/** The client's own name for a refusal that has one. */
function namedFor(error: unknown, id?: string): unknown {
  if (!(error instanceof Refused)) return error
  switch (error.code) {
    case 'already_consumed':
      return used(id)
    case 'mismatch':
    case 'idempotency_mismatch':
      return mismatch(id, { field: error.body.field ?? 'request', cause: error })
    case 'approval_lapsed':
      return lapsed('expired', id)
    case 'sandbox_approval':
      return sandbox(id)
    default:
      return error
  }
}

function lapsed(status: 'expired' | 'withdrawn', id?: string): Expired | Withdrawn {
  return new (status === 'expired' ? Expired : Withdrawn)(
    `the request is ${status}, neither approved in time nor refused. If it is still wanted, ask in a new call.`,
    id,
  )
}

/** A cache or a proxy may mix answers up. */
function checkAbout(found: unknown, id: string): void {
  if (found !== id) throw unreachable('it answers about another request', id)
}

function checkSandbox({ allowSandbox }: Approvals, answer: Body, id: string): void {
  if (answer.sandbox && !allowSandbox) throw sandbox(id)
}

function reviewUrl({ url }: Peer, { review_url }: Body, { id }: Open): string {
  return String(review_url ?? `${url}/a/${id}`)
}
