import type { ReceiptPayload } from '../domain/receipt.ts'
import type { VerifiedReceipt } from '../signing/verify.ts'
import type { UnsignedVote } from '../signing/votes.ts'
import { oneLine } from './terminal.ts'

/**
 * What was signed, in words, and how far the action and context in `receipt`, the JSON it came in, were checked. `votes` are
 * those next to it, where several people had to agree; `unsigned` the approvals of a request that was rejected.
 */
export function describeReceipt(
  result: VerifiedReceipt,
  receipt: unknown,
  votes: readonly VerifiedReceipt[] = [],
  unsigned: readonly UnsignedVote[] = [],
): string {
  const { payload, kid, keyRevokedAt, checked, delegate } = result
  const action = checked.action === 'none' ? undefined : textAt(receipt, 'action')
  const lines: [string, string][] = [
    ['Request', payload.rid],
    ['Decision', `${payload.decision}, ${METHODS[payload.method]}`],
    ['Decided at', time(payload.ts)],
    ['Open until', time(payload.exp)],
    ['Approver', `${payload.approver} (reference, not a name)`],
    ...delegateLine(delegate),
    [
      'Action',
      action === undefined
        ? `hash ${payload.action}`
        : `${oneLine(action)} (${ACTION_CHECK[checked.action]})`,
    ],
    ['Context', contextLine(checked.context, hasField(receipt, 'context'))],
    ['Decision id', payload.did],
    ...unsigned.map(unsignedLine),
    ...votes.map(voteLine),
    ['Signed by key', kid],
  ]
  return [
    headline(payload),
    ...lines.map(([name, value]) => `  ${name.padEnd(13)}  ${value}`),
    ...(keyRevokedAt === undefined ? [] : [revokedWarning(keyRevokedAt)]),
    'Signed is what stands above. A comment next to a receipt is not part of it.',
  ].join('\n')
}

function delegateLine(delegate: string | undefined): [string, string][] {
  return delegate === undefined
    ? []
    : [['Delegate', `${delegate} (acted for the approver; reference, not a name)`]]
}

function voteLine({ payload, keyRevokedAt, delegate }: VerifiedReceipt): [string, string] {
  const revoked = keyRevokedAt === undefined ? '' : '; CAUTION: its key was revoked later'
  const by = delegate === undefined ? payload.approver : `${delegate} for ${payload.approver}`
  return ['Vote', `${payload.decision} by ${by} at ${time(payload.ts)}${revoked}`]
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

function headline(payload: ReceiptPayload): string {
  if (payload.sandbox) return `VALID SANDBOX RECEIPT: a test ${payload.decision} this; no person was asked.`
  return `VALID: a person ${payload.decision} this.`
}

function revokedWarning(at: Date): string {
  return `CAUTION: the key was revoked at ${at.toISOString()}. A thief could have back-dated this receipt; look for other evidence.`
}

const ACTION_CHECK: Record<VerifiedReceipt['checked']['action'], string> = {
  full: 'exactly as approved',
  hash: 'fits the signed 64-bit hash',
  none: 'not checked',
}

function contextLine(check: VerifiedReceipt['checked']['context'], shown: boolean): string {
  if (check === 'full') return 'exactly as approved'
  return shown ? 'NOT CHECKED: there is no intent next to the receipt to check it by' : 'not in this file'
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
