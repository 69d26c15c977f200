import { identityKey } from '../../domain/chat.ts'
import { readPaste } from '../../domain/read-paste.ts'
import { parseReceiptInput, type VerifyResult, verifyReceiptJson } from '../../signing/verify.ts'
import type { FlowDeps } from '../deps.ts'
import { type Asker, logVerification, verifyByDecisionId, verifyDecision } from '../verify-receipt.ts'
import type { ChatAnswer, ChatSpeaker } from './chat-answer.ts'
import { notices } from './notices.ts'
import type { Asked } from './parse-command.ts'
import { type VerdictView, viewPastedReceipt, viewVerdict } from './view-verdict.ts'

/** `verify`: the public verification, for anybody who can speak to us. Every one is written down, as said in chat. */
export async function answerVerify(
  deps: FlowDeps,
  { identity }: Pick<ChatSpeaker, 'identity'>,
  { asked, share }: { asked: Asked; share: boolean },
): Promise<ChatAnswer> {
  const asker = { kind: 'chat', id: identityKey(identity) } as const
  if (asked.kind === 'nothing') return notices.verifyWhat(identity.platform)
  if (asked.kind === 'other') return notices.nothingToVerify(identity.platform)
  const view = await verdictOn(deps, asker, asked)
  return view === undefined ? notices.unreadable(identity.platform) : { kind: 'verdict', view, share }
}

async function verdictOn(
  deps: FlowDeps,
  asker: Asker,
  asked: Exclude<Asked, { kind: 'nothing' | 'other' }>,
): Promise<VerdictView | undefined> {
  const { baseUrl } = deps.settings
  if (asked.kind === 'receipt') {
    const receipt = readPaste(asked.text)
    if (receipt === undefined) return undefined
    const result = await verifyPasted(deps, receipt)
    await logPasted(deps, asker, result)
    return viewPastedReceipt('a pasted receipt', result, baseUrl)
  }
  const verify = asked.kind === 'request' ? verifyDecision : verifyByDecisionId
  return viewVerdict(asked.id, await verify(deps, asked.id, asker), baseUrl)
}

/** As anybody could offline with our published keys; a key that another process made just now counts, too. */
async function verifyPasted({ keys, clock }: FlowDeps, receipt: object): Promise<VerifyResult> {
  const options = { allowSandbox: true, now: clock.now() }
  const verify = () => verifyReceiptJson(receipt, keys.ring().publicRecords(), options)
  const result = verify()
  if (result.valid || result.code !== 'receipt_key_unknown') return result
  const { kid } = parseReceiptInput(receipt)
  const again = kid !== undefined && (await keys.find(kid)) !== undefined ? verify() : result
  if (again.valid || again.code !== 'receipt_key_unknown') return again
  return { ...again, message: 'It was not signed with a key of this service: its receipts would be.' }
}

async function logPasted(deps: FlowDeps, asker: Asker, result: VerifyResult): Promise<void> {
  if (!result.valid) return logVerification(deps, asker, { id: 'pasted receipt' }, result.code)
  const { rid } = result.payload
  logVerification(deps, asker, (await deps.requests.find(rid)) ?? { id: rid }, 'valid')
}
