export type { Approval, Asked, AskOptions, For, Outcome, Patience, Question, Use, UseOptions } from './ask.ts'
export type { Attachment } from './attachments.ts'
export { type CallOptions, type Client, type ClientOptions, countersign } from './client.ts'
export {
  CountersignError,
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
export type { GuardOptions, ToolOptions } from './guard.ts'
export type { Json } from './json.ts'
export type { Operations, Schemas } from './rest.ts'
