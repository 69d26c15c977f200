import type { ReceiptPayload } from '../../src/domain/receipt.ts'
import { visibleString } from '../../src/domain/text.ts'
import type { Examination } from '../../src/signing/examine-receipt.ts'

/** What a statement says that the nonce was found to commit to: as good as signed. */
export interface OpenedIntent {
  action: string
  /** The service it was made for. */
  audience: string | undefined
  highImpact: boolean
  /** Reference of who acted for the approver. */
  delegate: string | undefined
}

/** The statement of a receipt, once the check `intent` has passed; undefined without one. */
export function openedIntent({ input, outcomes }: Examination): OpenedIntent | undefined {
  if (input?.intent === undefined || outcomes.get('intent') !== 'passed') return undefined
  const said = new Map<string, unknown>(Object.entries(Object(JSON.parse(input.intent))))
  const text = (name: string): string | undefined => {
    const value = said.get(name)
    return typeof value === 'string' ? value : undefined
  }
  return {
    action: text('action') ?? '',
    audience: text('aud'),
    highImpact: said.get('high_impact') === true,
    delegate: text('delegate'),
  }
}

/** Who decided, and for whom when that was a delegate: the payload names only whose vote it is. */
export function whoActed(examination: Examination, { approver }: ReceiptPayload): string {
  const delegate = openedIntent(examination)?.delegate
  return delegate === undefined ? approver : `${visibleString(delegate)} as the delegate of ${approver}`
}
