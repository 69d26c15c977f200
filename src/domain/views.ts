/** What verbs hand out and the contract presents: each with all that an answer may need, and secrets that no answer shows. */
import type { Account, Member, Role } from './account.ts'
import type { Bootstrap, BootstrapEnd } from './bootstrap.ts'
import type { Card, ChatPlatform } from './chat.ts'
import type { ChatTrouble } from './chat-trouble.ts'
import type { Month } from './limits.ts'
import type { Policy } from './policy.ts'
import type { ReceiptPayload } from './receipt.ts'
import type { ApprovalRequest, RequestStatus } from './request.ts'
import type { User } from './user.ts'
import type { Delivery, Webhook } from './webhook.ts'

/** An account as a person in it may see it. */
export interface AccountView {
  account: Account
  role: Role
  owner: User
  /** Requests made this month. */
  used: number
  month: Month
  /** For its owner alone. */
  policy?: PolicyView
}

/** The policy as its owner looks at it. */
export interface PolicyView {
  /** `approvers` by name: the owner where the policy names no one. */
  policy: Policy
  /**
   * In the order the policy names them; a person who is no longer owner or approver is not eligible and counts for nothing, and one who is
   * not `inside` has no part in the account at all.
   */
  approvers: { user: User; eligible: boolean; inside: boolean }[]
  /** Could a request that is made now be approved? */
  reachable: boolean
}

/** An account, and what a person is in it. */
export interface Access {
  account: Account
  role: Role
}

/** Where a person is something, and where they are asked to be. */
export interface Memberships {
  accounts: Access[]
  /** The latest first. */
  invitations: { account: Account; member: Member }[]
}

/** A person in an account. Without `member` it is the owner. */
export interface Colleague {
  user: User
  member?: Member
}

/** The person asked to decide for another, and until when. */
export interface StandIn {
  user: User
  starts_at: Date
  ends_at: Date
}

/** A person for whom a delegate acts. */
export type Principal = Pick<User, 'name' | 'approver'>

/** A request in a person's inbox. */
export interface Waiting {
  request: ApprovalRequest
  methods: ('passkey' | 'totp')[]
  /** For whom the person would decide, when it is not themself. */
  onBehalfOf?: Principal
  /** The key that asked was revoked since; only while the request is pending. */
  keyRevoked: boolean
}

/** A request as one signed-in person may see it, with what they may do about it. */
export interface Review extends Waiting {
  /** Only for those named as approvers. */
  mayDecide: boolean
  /** Code of the first check that fails. */
  whyNot?: string
  /** References of approvers to whom no chat platform could take a message; only while it is pending. */
  notReachable: string[]
  /** The person looks at it from the address that asked; only while it is pending, and where that is compared. */
  sameAddress: boolean
  serverTime: Date
}

/**
 * What a reminder did. `reachable`: an approver it waits for has a browser registered for notifications, or an identity in
 * chat. `accepted`: at least one message to an approver was accepted within three seconds.
 */
export interface Reminder {
  request: ApprovalRequest
  reachable: boolean
  accepted: boolean
  remindedAt: Date
}

/** The answer of the public verification. `publicKey` is standard base64 of the raw 32 bytes. */
export type Verdict =
  | {
      valid: true
      payload: ReceiptPayload
      /** Reference of who acted, where a delegate did; the payload names whose vote it is. */
      delegate?: string
      signature: string
      publicKeyId: string
      publicKey: string
      at: Date
    }
  | {
      valid: false
      status?: RequestStatus
      error: string
      code: string
      /** Of a request that has no decision: is it a dry run? */
      sandbox?: boolean
    }

/** A bootstrap as the owner of the account may see it. */
export interface ConsentReview {
  bootstrap: Bootstrap
  methods: ('passkey' | 'totp')[]
  serverTime: Date
}

/** The answer to a poll of a bootstrap. */
export interface PollAnswer {
  status: Bootstrap['status']
  /** Only ever in one answer, or in that to a caller that proves to be the one who lost it. */
  api_key?: string
  /** With `expired`. */
  reason?: BootstrapEnd
}

/** A webhook and the newest delivery to it; none while nothing happened. */
export interface ListedWebhook {
  webhook: Webhook
  last?: Delivery
}

/** A card and the reference of the approver it is for; a channel's has none. */
export interface LoggedCard {
  card: Card
  approver?: string
}

/** A workspace whose people get cards: of Slack, or an organisation in Teams. */
interface ChatWorkspace {
  tenant: string
  /** As it was last reported. */
  name?: string
  /** Only where owners install the app. */
  installed_at?: Date
}

/** How a platform is set up: `one` workspace by the operator, for all accounts; `many`, whose owners install the app. */
export interface ChatSetup {
  mode: 'one' | 'many'
  /** Those of the account; none while the platform has not said which one it is. */
  workspaces: ChatWorkspace[]
}

/** How each platform is set up for an account (undefined: not at all on this service), and which workspaces take no cards. */
export interface ChatApps extends Record<ChatPlatform, ChatSetup | undefined> {
  troubles: ChatTrouble[]
}
