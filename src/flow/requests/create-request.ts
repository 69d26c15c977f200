import { setTimeout as pause } from 'node:timers/promises'
import { type Account, may, roleIn } from '../../domain/account.ts'
import { planReminders } from '../../domain/attention.ts'
import { fieldRequired, invalidField, Refusal, refusal } from '../../domain/errors.ts'
import { drawEvent } from '../../domain/event.ts'
import { createdData } from '../../domain/event-data.ts'
import { given } from '../../domain/given.ts'
import { drawId } from '../../domain/identifier.ts'
import type { NotifyTarget } from '../../domain/notify.ts'
import {
  isHighImpact,
  type Policy,
  policyFor,
  type Requirement,
  requirementFor,
} from '../../domain/policy.ts'
import type { Outcome } from '../../domain/receipt.ts'
import type { ApprovalRequest, InBatch, Reversibility } from '../../domain/request.ts'
import { showsNothing } from '../../domain/text.ts'
import { factorsOf, isVouchedFor, type User } from '../../domain/user.ts'
import { toBase64Url } from '../../signing/base64.ts'
import { canonicalize } from '../../signing/canonical.ts'
import { sha256Hex } from '../../signing/digest.ts'
import type { FlowDeps } from '../deps.ts'
import { type Caller, callerActor } from '../keys/authenticate-caller.ts'
import { type AttachmentInput, fixAttachments, takeAttached } from './attachments.ts'
import { giveBackAllowance, hasTwin, takeAllowance } from './attention.ts'
import { auditEntry } from './close-request.ts'
import { type Created, findEarlier, type Idempotency, type Marks, marksOf } from './find-earlier.ts'
import { findTarget, type NotifyInput } from './notify-target.ts'
import { requestSha256 } from './request-digest.ts'

/** A create body after its fields were checked one by one. */
export interface CreateInput {
  action: string
  ttl_seconds?: number | undefined
  context: Record<string, unknown>
  requires_individual_decision: boolean
  callback_url?: string | undefined
  audience?: string | undefined
  reversibility?: Reversibility | undefined
  use_within_seconds?: number | undefined
  notify?: NotifyInput | undefined
  attachments?: AttachmentInput[] | undefined
  sandbox_decision?: Outcome | undefined
  sandbox_auto_decide_seconds?: number | undefined
  traceparent?: string | undefined
  /** `open`: joins an equal request of this caller that is pending, or approved and unused, if there is one. */
  reuse?: 'open' | undefined
}

/** Largest context as canonical JSON, in bytes. */
const CONTEXT_BYTES = 16 * 1024

/** Seconds until a sandbox request decides itself, unless it says otherwise (interface, "Limits"). */
const SANDBOX_DEFAULT_SECONDS = 5

const SANDBOX_FIELDS: ReadonlySet<string> = new Set(['sandbox_decision', 'sandbox_auto_decide_seconds'])

/**
 * Makes a request, or finds one: the one that an earlier call with the same `Idempotency-Key` made or, with `reuse`, an equal one that
 * is open. A refused call leaves no trace, so the caller may correct the body and use the key again.
 * @param idempotency undefined = the header was not sent
 * @throws Refusal `idempotency_mismatch`, `sandbox_fields_require_sandbox_key`, `invalid_field`, `no_eligible_approver`,
 *   `notify_not_linked`, `attachment_quota_exceeded`, `quota_exceeded`, `too_many_pending`
 */
export async function createRequest(
  deps: FlowDeps,
  caller: Caller,
  input: CreateInput,
  idempotency?: Idempotency,
): Promise<Created> {
  const marks = marksOf(caller, input, idempotency)
  if (marks === undefined) return makeOrFind(deps, caller, input, {})
  // A call sent twice at once must not take the allowance twice, or the last one of a quota would be refused to both.
  const call = Object.values(marks).join()
  const same = deps.creating.get(call)
  if (same !== undefined) {
    const first = await same
    return { found: marks.idempotency_sha256 === undefined ? 'reused' : 'replayed', ...first }
  }
  const made = makeOrFind(deps, caller, input, marks).finally(() => deps.creating.delete(call))
  deps.creating.set(call, made)
  return made
}

/** Lost races in a row before giving up: each one means that another call made a request, which was then decided at once. */
const MAX_ATTEMPTS = 8

async function makeOrFind(
  deps: FlowDeps,
  caller: Caller,
  input: CreateInput,
  marks: Marks,
): Promise<Created> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const made = (await findEarlier(deps, marks)) ?? (await makeRequest(deps, caller, input, marks))
    if (made !== undefined) return made
  }
  throw refusal('unavailable')
}

/**
 * Makes a request: draft → quota → one insert that carries its own event and audit entry. Its marks are unique: they determine which
 * of two calls makes it.
 * @returns undefined when the other call was faster
 */
async function makeRequest(
  deps: FlowDeps,
  caller: Caller,
  input: CreateInput,
  marks: Marks,
): Promise<Created | undefined> {
  const draft = await draftRequest(deps, caller, input, marks)
  const twin = await takeAllowanceUnlessTwin(deps, draft, marks)
  if (twin !== undefined) return twin
  return (await saveDraft(deps, draft)) ? { request: draft.request } : undefined
}

/** A request that passed all checks, with the quota from which it is still to take; of it nothing is written yet. */
export interface Draft {
  request: ApprovalRequest
  /** The bytes of its attachments, in order. */
  attached: readonly Buffer[]
  quota: number
  noListeners: boolean
}

/**
 * Checks all that a request depends on: sandbox fields → callback → context → account, policy and chat.
 * @throws Refusal of `createRequest` but for those of quotas and marks
 */
export async function draftRequest(
  deps: FlowDeps,
  caller: Caller,
  input: CreateInput,
  marks: Marks,
): Promise<Draft> {
  refuseSandboxFields(caller, input)
  const callback = readCallbackUrl(deps, input)
  const context = fixContext(input.context)
  const attached = fixAttachments(input.attachments)
  // Before anything is read: a webhook that the account then lacks is younger than the request, and gets no news of it.
  const created_at = deps.clock.now()
  const { account, owner } = await whoseRequest(deps, caller)
  const policy = policyOf(caller, account)
  const { requirement, people } = await whoDecides(deps, caller, account, owner, policy)
  const notify = input.notify && (await findTarget(deps, account, input.notify))
  const parts = { callback, context, attached, account, owner, policy, requirement, notify, created_at }
  await takeAttached(deps, caller, attached)
  return {
    request: { ...buildRequest(deps, caller, input, parts), ...marks },
    attached: attached.contents,
    quota: account.monthly_quota,
    noListeners: hasNoListeners(account, people),
  }
}

/** Milliseconds for which a refused call waits for the request of its twin, and between two looks for it. */
export const TWIN_MS = 5_000
export const TWIN_LOOK_MS = 50

/**
 * Takes the allowance. If it is used up, but the same call has taken some of it in another process, this one waits for what becomes
 * of that: the last of a quota would else be refused to a caller who has it.
 * @returns the request that the other process made; undefined if this one is to make it
 * @throws Refusal `quota_exceeded`, `too_many_pending`, `idempotency_mismatch`
 */
async function takeAllowanceUnlessTwin(
  deps: FlowDeps,
  { request, quota }: Draft,
  marks: Marks,
): Promise<Created | undefined> {
  for (const until = deps.clock.steady() + TWIN_MS; ; await pause(TWIN_LOOK_MS)) {
    try {
      await takeAllowance(deps, request, quota)
      return undefined
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const underWay = await hasTwin(deps, request)
      const made = await findEarlier(deps, marks)
      if (made !== undefined) return made
      if (!underWay || deps.clock.steady() > until) throw error
    }
  }
}

/** Returns the parsed form of the callback's URL; only this form is stored and used (T1, T6, T11). */
function readCallbackUrl({ targets }: FlowDeps, input: CreateInput): string | undefined {
  if (input.callback_url === undefined) return undefined
  const target = targets.read(input.callback_url)
  if ('problem' in target) throw invalidField('callback_url', target.problem)
  return target.href
}

/** Turns the context into the one text that is stored, hashed, signed and shown. */
function fixContext(context: Record<string, unknown>) {
  const json = canonicalize(context)
  if (Buffer.byteLength(json) > CONTEXT_BYTES) throw invalidField('context', 'must not exceed 16 KiB of JSON')
  return { json, sha256: sha256Hex(json), value: context }
}

/** Reads the account of the request: for the internal token, that of the user it names; for a key, the key's own. */
async function whoseRequest(deps: FlowDeps, caller: Caller): Promise<{ account: Account; owner: User }> {
  const { account_id } = caller.key
  const [account, owner] = await Promise.all([
    deps.accounts.find(account_id),
    deps.users.findByAccount(account_id),
  ])
  if (account === undefined || owner?.id !== account.owner_id)
    throw new Error(`key ${caller.key.id} has no account or owner`)
  return { account, owner }
}

/** Returns the request's policy: the account's and what the key adds to it. With the internal token the user it names decides. */
function policyOf(caller: Caller, account: Account): Policy {
  const policy = policyFor(account, caller.key.policy)
  const named = caller.internal_user_id
  return named === undefined ? policy : { ...policy, approvers: [named], quorum: 1 }
}

async function whoDecides(
  deps: FlowDeps,
  caller: Caller,
  account: Account,
  owner: User,
  policy: Policy,
): Promise<{ requirement: Requirement; people: User[] }> {
  if (caller.key.sandbox) {
    const approvers = [{ user_id: owner.id, approver: owner.approver }]
    return { requirement: { approvers, quorum: 1, passkey_only: false }, people: [] }
  }
  // A person whom the policy names but who is no longer an approver of the account does not count: too few left fails closed.
  const eligible = policy.approvers.filter((id) => may(roleIn(account, id), 'decide'))
  const found = await deps.users.findMany(eligible.filter((id) => id !== owner.id))
  const people = eligible.flatMap((id) =>
    id === owner.id ? [owner] : found.filter((user) => user.id === id),
  )
  const factors = people.map((user) => ({
    user_id: user.id,
    approver: user.approver,
    confirmed: isVouchedFor(user),
    ...factorsOf(user, policy.authenticators),
  }))
  const requirement = requirementFor(policy, factors)
  if (requirement === undefined) throw refusal('no_eligible_approver')
  return { requirement, people }
}

/** The marks are removed before a first webhook or browser is stored, so one acknowledged before this request came is seen. */
function hasNoListeners(account: Account, people: readonly User[]): boolean {
  const alone = people.every(({ no_browsers, delegate }) => no_browsers === true && delegate === undefined)
  return alone && account.no_webhooks === true
}

interface Parts {
  callback: string | undefined
  context: ReturnType<typeof fixContext>
  attached: ReturnType<typeof fixAttachments>
  account: Account
  owner: User
  policy: Policy
  requirement: Requirement
  notify: NotifyTarget | undefined
  created_at: Date
}

function buildRequest(deps: FlowDeps, caller: Caller, input: CreateInput, parts: Parts): ApprovalRequest {
  const { account, owner, context, created_at } = parts
  const ttl = input.ttl_seconds ?? owner.default_ttl_seconds
  const facts = {
    id: drawId(deps, 'req'),
    action: input.action,
    created_at,
    expires_at: new Date(created_at.getTime() + ttl * 1000),
    high_impact: isHighImpact(
      input.requires_individual_decision || parts.policy.high_impact || caller.key.source_control === true,
      context.value,
    ),
    sandbox: caller.key.sandbox,
  }
  const asked = {
    ...facts,
    account_id: account.id,
    api_key_id: caller.key.id,
    requested_by: { key_name: caller.key.name, account_name: account.name },
    context_json: context.json,
    context_sha256: context.sha256,
    digest_salt: toBase64Url(deps.random.bytes(16)),
    requirement: parts.requirement,
    ...given({ made_after: deps.restores.last()?.id }),
    ...given({ audience: input.audience, reversibility: input.reversibility, notify: parts.notify }),
    ...given({ use_within_seconds: input.use_within_seconds, attachments: parts.attached.facts }),
    ...(parts.callback === undefined
      ? {}
      : { callback_url: parts.callback, callback_secret_version: caller.key.secret_version }),
    ...(caller.key.sandbox
      ? { sandbox_plan: sandboxPlan(input, owner, created_at) }
      : planReminders(account.policy.reminders, facts)),
  }
  const told = auditEntry(deps, asked, 'approval.created', callerActor(caller), created_at)
  return {
    ...asked,
    version: 1,
    status: 'pending',
    ...(deps.settings.noteSameAddress ? { asked_from: caller.address } : {}),
    ...given({ traceparent: input.traceparent }),
    votes: [],
    outbox: [drawEvent(deps, 'approval.created', created_at, createdData(facts))],
    audit: [{ ...told, detail: { asked_sha256: requestSha256(asked) } }],
  }
}

function sandboxPlan(
  input: CreateInput,
  owner: User,
  created: Date,
): ApprovalRequest['sandbox_plan'] & object {
  const seconds = input.sandbox_auto_decide_seconds ?? SANDBOX_DEFAULT_SECONDS
  const due_at = new Date(created.getTime() + seconds * 1000)
  return { decision: input.sandbox_decision ?? 'approved', due_at, approver: owner.approver }
}

/** Returns the draft as a part of the batch, with the hash of what is asked for. */
export function inBatch(draft: Draft, batch: InBatch): Draft {
  const request = { ...draft.request, batch }
  const detail = { asked_sha256: requestSha256(request) }
  return { ...draft, request: { ...request, audit: request.audit.map((entry) => ({ ...entry, detail })) } }
}

/**
 * Makes the request, whose allowance was taken.
 * @param quietly the relay is not told
 * @returns false when another call with the same mark was faster
 */
export async function saveDraft(
  deps: FlowDeps,
  { request, attached, noListeners }: Draft,
  quietly = false,
): Promise<boolean> {
  try {
    await deps.attachments.insert(request.id, attached, request.created_at)
    if (await deps.requests.insert(request, { noListeners }, quietly)) {
      // What is not claimed costs only a look of the sweep.
      if (attached.length > 0) await deps.attachments.claim(request.id).catch(() => undefined)
      tellLink(deps, request)
      return true
    }
  } catch (error) {
    const settled = giveBackUnlessMade(deps, request).catch((cause: unknown) =>
      deps.log.warn({ error: cause, request_id: request.id }, 'releasing the quota of a request failed'),
    )
    // A store that is down has just kept the caller waiting, and would do so again.
    if (!deps.storeIsDown(error)) await settled
    throw error
  }
  await giveBackAllowance(deps, request)
  return false
}

/** Keeps what was taken if the request was made although the connection was lost: its retry is answered with it (T24). */
async function giveBackUnlessMade(deps: FlowDeps, request: ApprovalRequest): Promise<void> {
  if ((await deps.requests.find(request.id)) === undefined) await giveBackAllowance(deps, request)
}

/** Logs, in development, the link that a card would carry, so that the flow can be tried without chat. */
function tellLink(deps: FlowDeps, request: ApprovalRequest): void {
  if (deps.settings.production || request.sandbox) return
  deps.log.info(
    { request_id: request.id, open: `${deps.settings.baseUrl}/a/${request.id}` },
    'a request is pending',
  )
}

/**
 * Refuses both sandbox fields from a live key, whatever their value: checked on the body as sent, before values are judged.
 * @throws Refusal `sandbox_fields_require_sandbox_key`
 */
export function refuseSandboxFields(caller: Caller, body: object): void {
  const sent = Object.entries(body).some(([field, value]) => SANDBOX_FIELDS.has(field) && value !== undefined)
  if (sent && !caller.key.sandbox) throw refusal('sandbox_fields_require_sandbox_key')
}

/** Refuses an action without a visible character, which says nothing to an approver, with the interface's `action required`. */
export function refuseBlankAction(action: string): void {
  if (showsNothing(action)) throw fieldRequired('action', 'is blank: it has no visible characters')
}
