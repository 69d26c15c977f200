import { parseUnambiguous } from '../domain/parse-json.ts'
import { exactlyAs, type ReceiptPayload } from '../domain/receipt.ts'
import { useWithinWords } from '../domain/request.ts'
import { isLoopback } from '../outbound/target-url.ts'
import { canonicalize } from '../signing/canonical.ts'
import { JwksError } from '../signing/jwks.ts'
import type { VerificationKey } from '../signing/key-record.ts'
import { parseJwks } from '../signing/keys.ts'
import { RECEIPT_ERRORS, type ReceiptRefusal } from '../signing/receipt-error.ts'
import { unsignedFields, unsignedWords } from '../signing/unsigned-fields.ts'
import { heldToIntent, type VerifiedReceipt, type VerifyResult } from '../signing/verify-core.ts'
import { verifyReceiptJson } from '../signing/verify-node.ts'
import { cautionsAbout, judgeTogether, type UnsignedVote } from '../signing/votes.ts'
import { readPolicy } from './policy-file.ts'
import { readAll, readInput, readTexts } from './read-input.ts'
import { type CommandResult, EXIT, oneLine, usageError } from './terminal.ts'
import { isBundle, verifyBundles, verifyOneBundle } from './verify-bundle.ts'

export interface VerifyOptions {
  jwks: string
  policy?: string
  enrolment?: boolean
  expectService?: string
  expectRequest?: string
  expectAction?: string
  expectContext?: string
  expectAudience?: string
  expectAccount?: string
  allowSandbox?: boolean
}

/**
 * `countersign verify`: checks a receipt, and every vote next to it, or bundles, against a pinned key set; needs no configuration
 * and no store.
 * @throws CliError (usage) when the receipt or the keys cannot be read: then there is no verdict
 */
export async function runVerifyReceipt(
  paths: readonly string[],
  options: VerifyOptions,
): Promise<CommandResult> {
  if (options.enrolment && options.policy === undefined)
    throw usageError('--enrolment needs --policy: only a log that you trust can say whose passkey signed.')
  const trust = {
    keys: await readKeys(options.jwks),
    ...(options.policy === undefined ? {} : { policy: await readPolicy(options.policy) }),
  }
  const asked = {
    allowSandbox: options.allowSandbox ?? false,
    now: new Date(),
    ...(await expectation(options)),
    audience: options.expectAudience,
    account: options.expectAccount,
  }
  const ofBundle = { ...asked, service: options.expectService, enrolment: options.enrolment }
  const [path = '-'] = paths
  const texts = readTexts(paths, isBundle)
  const first = (await texts.next()).value
  const second = (await texts.next()).value
  if (first !== undefined && second !== undefined)
    return verifyBundles(withFirst([first, second], texts), trust, ofBundle)
  const text = first?.text ?? ''
  if (isBundle(text)) return verifyOneBundle(text, trust, ofBundle)
  if ([options.policy, options.expectService, options.enrolment].some((one) => one !== undefined))
    throw usageError(
      `${path} is not a bundle; --policy, --enrolment and --expect-service are for bundles. Download one with GET /api/v1/approvals/<id>/receipt.`,
    )
  const check = (json: unknown): VerifyResult =>
    heldToIntent(verifyReceiptJson(json, trust.keys, asked), asked)
  const { result, shown, votes, unsigned } = judgeTogether(parseUnambiguous(text), check)
  return result.valid ? confirmed(result, shown, votes, unsigned) : refused(result)
}

async function* withFirst<T>(first: readonly T[], rest: AsyncIterable<T>): AsyncGenerator<T> {
  yield* first
  yield* rest
}

/** The request, action and context that the caller expects to be decided on; every vote is also checked against them. */
async function expectation({ expectRequest, expectAction, expectContext }: VerifyOptions) {
  const json = expectContext?.startsWith('@') ? await readInput(expectContext.slice(1)) : expectContext
  return {
    ...(expectRequest === undefined ? {} : { expected: { rid: expectRequest } }),
    expectedContent: { action: expectAction, context: json === undefined ? undefined : contextText(json) },
  }
}

function contextText(json: string): string {
  const context = parseUnambiguous(json)
  if (typeof context !== 'object' || context === null || Array.isArray(context))
    throw usageError('--expect-context must be a JSON object, or @ and the name of a file with one.')
  return canonicalize(context)
}

function confirmed(
  result: VerifiedReceipt,
  receipt: unknown,
  votes: readonly VerifiedReceipt[],
  unsigned: readonly UnsignedVote[],
): CommandResult {
  const { payload, kid, sandbox, checked, keyRevokedAt, delegate, stated, unproven } = result
  const of = votes.map(({ kid, payload, checked, delegate, keyRevokedAt }) => ({
    kid,
    payload,
    checked,
    delegate,
    key_revoked_at: keyRevokedAt?.toISOString(),
  }))
  const cautions = cautionsAbout(result, votes)
  const beside = unsignedFields([result, ...votes])
  return {
    ...(unproven ? UNPROVEN : payload.decision === 'rejected' ? REJECTED : {}),
    value: {
      ...(unproven ? { valid: false, receipt_valid: true, ...UNPROVEN.failure } : { valid: true }),
      sandbox,
      kid,
      payload,
      checked,
      delegate,
      ...stated,
      key_revoked_at: keyRevokedAt?.toISOString(),
      votes: of.length > 0 ? of : undefined,
      unsigned_votes: unsigned.length > 0 ? unsigned : undefined,
      unsigned_fields: beside.length > 0 ? beside : undefined,
      caution: cautions.length > 0 ? cautions.join(' ') : undefined,
    },
    text: describeReceipt(result, receipt, votes, unsigned),
  }
}

const UNPROVEN = {
  failure: { error: 'receipt_content_unproven', message: RECEIPT_ERRORS.receipt_content_unproven },
  exitCode: EXIT.unproven,
}

/** A valid receipt of a rejection fails too, so that `countersign verify … && act` does not act. */
const REJECTED = {
  failure: { error: 'receipt_of_rejection', message: 'The receipt is valid: the request was rejected.' },
  exitCode: EXIT.rejected,
}

function refused({ code, message, field }: ReceiptRefusal): CommandResult {
  const failure = { error: code, message }
  return {
    value: { valid: false, ...failure, field },
    text: `NOT VALID (${code}${field === undefined ? '' : `, field ${field}`}): ${message}`,
    failure,
  }
}

async function readKeys(source: string): Promise<VerificationKey[]> {
  const text = isAddress(source) ? await fetchText(source) : await readInput(source)
  try {
    return parseJwks(parseUnambiguous(text))
  } catch (error) {
    if (error instanceof JwksError)
      throw usageError(oneLine(`${source} is not a key set to trust: ${error.message}`))
    throw error
  }
}

const TIMEOUT_MS = 10_000

/**
 * Fetches the key set at an address or, if that has no path, of the service there. Over http: only from this machine: a key set
 * that came in the clear could be an attacker's.
 * @throws CliError (usage) when it cannot be fetched within 10 s, is larger than 1 MiB, or the answer is not 200
 */
async function fetchText(address: string): Promise<string> {
  const url = new URL(address)
  // fetch refuses credentials as well, but its message repeats them.
  if (url.username !== '' || url.password !== '')
    throw usageError(
      `The address of ${url.origin} must not contain a user name or password: leave them out, or save the key set and name its file.`,
    )
  if (url.pathname === '/') url.pathname = '/.well-known/jwks.json'
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    throw usageError(
      `${url.origin} must be https:, because keys sent in the clear could have been replaced on the way.`,
    )
  try {
    // A redirect would let the holder of any one address choose the keys.
    const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) })
    if (response.status !== 200)
      throw usageError(`${url.href} answered ${response.status} instead of a key set.`)
    if (response.body === null) return ''
    return await readAll(response.body, url.href)
  } catch (error) {
    if (error instanceof TypeError || (error instanceof DOMException && error.name === 'TimeoutError'))
      throw usageError(`${url.href} cannot be fetched: ${reasonOf(error)}`)
    throw error
  }
}

/** Checks whether `text` is an address to fetch, rather than the name of a file. */
function isAddress(text: string): boolean {
  return /^https?:\/\//i.test(text) && URL.canParse(text)
}

function reasonOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message
}

/**
 * Describes what was signed, and how far the action and context in `receipt`, the JSON it came in, were checked. `votes` are
 * the receipts next to it, if several people had to agree; `unsigned` are the approvals of a request that was rejected.
 */
function describeReceipt(
  result: VerifiedReceipt,
  receipt: unknown,
  votes: readonly VerifiedReceipt[],
  unsigned: readonly UnsignedVote[],
): string {
  const { payload, kid, checked, delegate } = result
  const action = checked.action === 'none' ? undefined : textAt(receipt, 'action')
  const lines: [string, string][] = [
    ['Request', payload.rid],
    [
      'Decision',
      `${payload.decision}, ${votes.length > 1 ? 'the last vote ' : ''}${METHODS[payload.method]}`,
    ],
    ['Decided at', time(payload.ts)],
    ['Expires at', time(payload.exp)],
    payload.sandbox
      ? ['Reference', `${payload.approver} (as in the receipt; no person decided)`]
      : ['Approver', `${payload.approver} (reference, not a name)`],
    ...delegateLine(delegate),
    [
      'Action',
      action === undefined
        ? `hash ${payload.action}`
        : `${oneLine(action)} (${checked.action === 'full' ? exactlyAs(payload) : 'fits the signed 64-bit hash'})`,
    ],
    ['Context', checked.context === 'full' ? exactlyAs(payload) : uncheckedContext(receipt)],
    ...statedLines(result.stated),
    ['Receipt id', payload.did],
    ...unsigned.map(unsignedLine),
    ...votes.map(voteLine),
    ['Signed by key', kid],
  ]
  return [
    headline(result, votes.length),
    ...lines.map(([name, value]) => `  ${name.padEnd(13)}  ${value}`),
    ...cautionsAbout(result, votes).map((caution) => `CAUTION: ${caution}`),
    ...besideLines(unsignedWords([result, ...votes])),
  ].join('\n')
}

/** Last, since the names are whatever the sender of the receipt chose. */
function besideLines(names: string | undefined): string[] {
  const signed = 'All of the above is signed.'
  return [names === undefined ? signed : `${signed} Not signed, and not checked: ${oneLine(names)}.`]
}

/** Lines for what the intent states, with control characters made visible: a requester's name could forge a line of ours. */
function statedLines(stated: VerifiedReceipt['stated']): [string, string][] {
  if (stated === undefined) return []
  const { requester, quorum, audience, reversibility, use_within_seconds, attachments = [] } = stated
  const lines: [string, string | undefined][] = [
    ['Caller', `${requester.name} (${requester.key} of ${requester.account})`],
    ['Needed', quorum === 1 ? 'one approval' : `${quorum} approvals`],
    ['Meant for', audience],
    ['Reversibility', reversibility && `${reversibility} (says the caller)`],
    ['Use', useWithinWords(use_within_seconds)],
    ...attachments.map(({ name, sha256, opened }): [string, string] => [
      'Attached',
      `${sha256} ${name}${opened ? '' : ' (not opened by the approver)'}`,
    ]),
  ]
  return lines.flatMap(([name, value]) => (value === undefined ? [] : [[name, oneLine(value)]]))
}

function delegateLine(delegate: string | undefined): [string, string][] {
  return delegate === undefined
    ? []
    : [['Delegate', `${delegate} (acted for the approver; reference, not a name)`]]
}

function voteLine({ payload, keyRevokedAt, delegate }: VerifiedReceipt): [string, string] {
  const revoked = keyRevokedAt === undefined ? '' : '; CAUTION: its key was revoked later'
  const by = delegate === undefined ? payload.approver : `${delegate} for ${payload.approver}`
  return ['Vote', `${payload.decision} by ${by} at ${time(payload.ts)}, ${METHODS[payload.method]}${revoked}`]
}

function unsignedLine({ approver }: UnsignedVote): [string, string] {
  const who = approver === undefined ? '' : ` by ${approver}`
  return ['Vote', `approved${who}; not signed: the request was rejected, and nothing proves this vote`]
}

const METHODS: Record<ReceiptPayload['method'], string> = {
  passkey: 'confirmed with a passkey',
  totp: 'confirmed with a one-time code',
  sandbox: 'by the sandbox; no person decided',
}

/** The first line. Only an approval can come from several people: a single rejection rejects. */
function headline({ payload, unproven }: VerifiedReceipt, votes: number): string {
  if (unproven) return `RECEIPT VALID, CONTENT NOT PROVEN: ${RECEIPT_ERRORS.receipt_content_unproven}`
  if (payload.sandbox) return `VALID SANDBOX RECEIPT: a test ${payload.decision} this; no person was asked.`
  return `VALID: ${votes > 1 && payload.decision === 'approved' ? `${votes} people` : 'a person'} ${payload.decision} this.`
}

function uncheckedContext(receipt: unknown): string {
  return hasField(receipt, 'context')
    ? 'NOT CHECKED: the intent to check it with is missing'
    : 'not in this file'
}

function textAt(value: unknown, field: string): string | undefined {
  const found: unknown = hasField(value, field) ? Reflect.get(value, field) : undefined
  return typeof found === 'string' ? found : undefined
}

function hasField(value: unknown, field: string): value is object {
  return value !== null && typeof value === 'object' && Object.hasOwn(value, field)
}

function time(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
}
