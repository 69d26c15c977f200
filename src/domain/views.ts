/** Results of the flows, which `http/api` presents. Each holds all that an answer may need, and secrets that no answer shows. */
import type { Account, Member, Role } from './account.ts'
import type { Bootstrap, BootstrapEnd } from './bootstrap.ts'
import type { Bundle, LogPlace } from './bundle.ts'
import type { Card, ChatPlatform } from './chat.ts'
import type { ChatTrouble } from './chat-trouble.ts'
import type { Month } from './limits.ts'
import type { ShownTarget } from './notify.ts'
import type { Endings, Tally } from './overview.ts'
import type { Policy } from './policy.ts'
import type { Precedents } from './precedents.ts'
import type { Push } from './push.ts'
import type { ReceiptPayload } from './receipt.ts'
import type { ApprovalRequest, RequestStatus } from './request.ts'
import type { RestoreTimes } from './restore.ts'
import type { Recovery, User } from './user.ts'
import type { Delivery, Webhook } from './webhook.ts'

/** An account as a person in it may see it. */
export interface AccountView {
  account: Account
  role: Role
  owner: User
  /** Requests made this month. */
  used: number
  month: Month
  /** Present for the account's owner only. */
  policy?: PolicyView
}

/** The policy as the account's owner sees it. */
export interface PolicyView {
  /** Names its `approvers` in full: the owner where the stored policy names no one. */
  policy: Policy
  /**
   * In the order the policy names them. A person who is no longer owner or approver is not `eligible` and does not count; a
   * person who is not `inside` has no role in the account at all.
   */
  approvers: { user: User; eligible: boolean; inside: boolean }[]
  /** Whether a request made now could be approved. */
  reachable: boolean
}

/**
 * How far the log has a decision. `stopped`: it will not get there, since the store was put back. `before_log`: the decision is older
 * than the log, which therefore does not commit to its receipt.
 */
export type LogStanding =
  | { log: 'waiting' | 'stopped' | 'before_log' }
  | {
      log: 'logged' | 'witnessed'
      /** The name of the log. */
      origin: string
      /** The place of the decision, from 0, in a log of `size` entries. */
      index: number
      size: number
      /** Those who have signed that size, and when. */
      witnesses: { name: string; at: Date }[]
      place: LogPlace
    }

/** What proves a decision, and how far. */
export interface DecisionProof {
  standing: LogStanding
  /** Names of the witnesses that are asked and have not signed. */
  awaited: string[]
  /** Absent once the texts were erased. */
  bundle?: Bundle
}

/** An account, and a person's role in it. */
export interface Access {
  account: Account
  role: Role
}

/** The accounts in which a person has a role, and those to which they are invited. */
export interface Memberships {
  accounts: Access[]
  /** Newest first. */
  invitations: { account: Account; member: Member }[]
  /** An owner's offer to set up the person's sign-in anew. */
  recovery?: { account: Account; opens_at: Date; expires_at: Date }
}

/** A person in an account; the owner has no `member`. */
export interface Colleague {
  user: User
  member?: Member
  /** The account's offer to set up sign-in anew, open or refused. */
  recovery?: Recovery
}

/** A delegate, and the time in which they stand in. */
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
  /** The person for whom a delegate would decide; absent when they decide for themself. */
  onBehalfOf?: Principal
  /** Held after a restore (`isHeldBy`). */
  held?: true
  /** The key that made the request was revoked since; set only while the request is pending. */
  keyRevoked: boolean
  /** Equal for requests of one key that are alike (`kindOf`), for the inbox to group. */
  kind?: string
}

/** A request as one signed-in person may see it, and whether they may decide it. */
export interface Review extends Waiting {
  /** True only for approvers named by the request, and their delegates. */
  mayDecide: boolean
  /** Code of the first check that failed. */
  whyNot?: string
  /** Where the outcome also goes in chat; only while the request is pending. */
  told?: ShownTarget
  /** References of approvers whom no chat platform could reach; only while the request is pending. */
  notReachable: string[]
  /** The person reads from the address that made the request; only while it is pending, and where addresses are compared. */
  sameAddress: boolean
  serverTime: Date
}

/** What is known of requests like this one, as far as a person may see it. */
export interface Similar {
  request: ApprovalRequest
  /** The latest of the same key and tool. */
  earlier: ApprovalRequest[]
  precedents: Precedents | undefined
  /** The account of the request. */
  account: Account | undefined
}

/**
 * The outcome of a reminder. `reachable`: an approver who has not voted has a browser registered for notifications, or an
 * identity in chat. `accepted`: at least one message to an approver was accepted within three seconds.
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
      /** Reference of the delegate, if one acted; the payload names the person whose vote it is. */
      delegate?: string
      signature: string
      publicKeyId: string
      publicKey: string
      at: Date
      /** The request was in the copy from which the store was restored before this decision. */
      restored?: RestoreTimes
      /** When the request's texts were erased; only the signature was checked. */
      erasedAt?: Date
    }
  | {
      valid: false
      status?: RequestStatus
      error: string
      code: string
      /** Whether a request without a decision is a dry run. */
      sandbox?: boolean
    }

/** A bootstrap as the owner of the account may see it. */
export interface ConsentReview {
  bootstrap: Bootstrap
  methods: ('passkey' | 'totp')[]
  serverTime: Date
}

/** The answer to a poll of a bootstrap. */
export type PollAnswer =
  | { status: 'pending' | 'rejected' }
  /** The key is in a single answer; a caller who lost that answer and proves its verifier gets a replacement. */
  | { status: 'approved'; api_key: string }
  | { status: 'expired'; reason: BootstrapEnd }

/** A webhook and its newest delivery; none while nothing was sent to it. */
export interface ListedWebhook {
  webhook: Webhook
  last?: Delivery
}

/** A card and its approver's reference; a channel's card has none. `told`: of a person who is only told the outcome. */
export interface LoggedCard {
  card: Card
  approver?: string
  told?: true
}

/** A notification or a mail about a request; `approver`: the reference of its recipient, if they are one. */
export interface LoggedPush {
  push: Push
  approver?: string
}

/** A workspace whose people get cards: a Slack workspace, or an organisation in Teams. */
interface ChatWorkspace {
  tenant: string
  /** The name last reported by the platform. */
  name?: string
  /** Set only where account owners install the app. */
  installed_at?: Date
}

/** How a platform is set up: `one` workspace, by the operator for all accounts; `many`, where account owners install the app. */
export interface ChatSetup {
  mode: 'one' | 'many'
  /** The account's workspaces; empty while the platform has not named its workspace. */
  workspaces: ChatWorkspace[]
}

/** How each platform is set up for an account (undefined: not on this service), and which workspaces take no cards. */
export interface ChatApps extends Record<ChatPlatform, ChatSetup | undefined> {
  troubles: ChatTrouble[]
}

/** The figures of an account's live requests made in the last `days` days, today included. */
export interface Overview {
  account: Account
  /** Every day of the time, oldest first. */
  days: { day: string; endings: Endings }[]
  total: Tally
  /** Seconds from request to decision. */
  waits: { median: number; p90: number } | undefined
  oldest: { id: string; created_at: Date } | undefined
  /** Names of API keys and of the account's people, by id. */
  names: Map<string, string>
  deadLetters: number
}

/** What a person has set up, and what is left; `owner`: what their account has. */
export interface NextSteps {
  /** The person does not want to see them any more. */
  hidden: boolean
  second_passkey: boolean
  /** A browser, an address or a chat account of theirs is told of requests. */
  told: boolean
  owner?: {
    first_decision: boolean
    /** The policy names an approver beside the owner. */
    member: boolean
    /** An approver joined whom the policy does not name. */
    member_unnamed: boolean
    /** It has rules of its own. */
    policy: boolean
    chat_or_mail: boolean
    /** One of the latest live approvals was used by its caller. */
    approval_used: boolean
  }
}
