import type { ReceiptPayload } from '../domain/receipt.ts'
import type { VerifiedReceipt } from '../signing/verify.ts'
import { oneLine } from './table.ts'

/** What was signed, in words. `receipt` is the JSON it came in: its `action`, where there is one, was compared with the signed hash. */
export function describeReceipt({ payload, kid, keyRevokedAt }: VerifiedReceipt, receipt: unknown): string {
  const action = actionOf(receipt)
  const lines: [string, string][] = [
    ['Request', payload.rid],
    ['Decision', `${payload.decision}, ${METHODS[payload.method]}`],
    ['Decided at', time(payload.ts)],
    ['Open until', time(payload.exp)],
    ['Approver', `${payload.approver} (reference, not a name)`],
    [
      'Action',
      action === undefined ? `hash ${payload.action}` : `${oneLine(action)} (fits hash ${payload.action})`,
    ],
    ['Decision id', payload.did],
    ['Signed by key', kid],
  ]
  return [
    headline(payload),
    ...lines.map(([name, value]) => `  ${name.padEnd(13)}  ${value}`),
    ...(keyRevokedAt === undefined ? [] : [revokedWarning(keyRevokedAt)]),
    'Signed is what stands above. Context and comments next to a receipt are not part of it.',
  ].join('\n')
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

function actionOf(receipt: unknown): string | undefined {
  if (receipt === null || typeof receipt !== 'object') return undefined
  if (!('decision' in receipt) || !isObject(receipt.decision)) return undefined
  return 'action' in receipt && typeof receipt.action === 'string' ? receipt.action : undefined
}

/** Only around a decision object the action is compared; next to anything else it would be anybody's word. */
function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function time(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
}
