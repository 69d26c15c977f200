import type { ApprovalRequest } from '../domain/request.ts'

/** What a model is told a request is. `used` stands for an approval that was used up: no `approved` may be read twice as permission. */
export const STATUSES = ['pending', 'approved', 'used', 'rejected', 'expired', 'withdrawn'] as const

export type ToolStatus = (typeof STATUSES)[number]

const STEPS: Readonly<Record<ToolStatus | 'crowded' | 'consumed' | 'consumed_dry', string>> = {
  pending:
    'Nobody has decided yet. This is not a refusal and not an approval. Call wait_for_decision with this request_id, and do not act meanwhile.',
  crowded:
    'Nobody has decided yet. This is not a refusal and not an approval. Too many calls of this key wait already, so this one did not: do something else first, or tell the user, and call wait_for_decision with this request_id in a minute. Do not act meanwhile.',
  approved:
    'Approved, not used yet. Call consume_approval with exactly this action and context right before acting, and act only if that call accepts.',
  consumed: 'Used up by this call: carry out exactly this action with this context now, once.',
  consumed_dry:
    'Used up by this call, but nobody approved it. Do not act, unless the user has said that this is only a trial.',
  used: 'This approval was used up before. Do not act on it; to do the same again, ask again with request_approval.',
  rejected:
    'A human said no. Do not act, and do not ask again for the same; tell the user, with the comment.',
  expired:
    'Nobody decided in time. This is not a refusal and not an approval. Do not act; ask again only if the action is still needed.',
  withdrawn:
    'The request was withdrawn before a decision. Do not act; ask again only if the action is still needed.',
}

const AFTER_REFUSAL: Readonly<Record<string, string>> = {
  already_consumed:
    'Do not act: the approval was used up by another call. If it is not certain that the action was carried out, ask the user.',
  mismatch:
    'Do not act: this is not what was approved. Ask with request_approval for what is really to be done.',
  not_approved: 'Do not act. Call wait_for_decision to see what became of the request.',
  held_after_restore: 'Do not act: the operator has to confirm first. Tell the user.',
}

/** Says in words for a model what to do after an outcome or a refusal, and nothing that could be read as permission. */
export function nextStep(after: string, request?: Pick<ApprovalRequest, 'sandbox'>): string {
  const step = Object.hasOwn(STEPS, after) ? STEPS[after as ToolStatus] : AFTER_REFUSAL[after]
  const said = step ?? 'Do not act. Correct the call or tell the user what the message says.'
  return request?.sandbox ? `Dry run: no human was asked. ${said}` : said
}
