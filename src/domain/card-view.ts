import type { Scope } from './api-key.ts'
import type { FactorNotice } from './factor-notice.ts'
import type { PrecedentWords } from './precedent-words.ts'
import type { Outcome } from './receipt.ts'
import type { TextWarnings } from './text-warnings.ts'

/** The state of a request, as a card shows it. */
export type CardStatus =
  | { kind: 'pending' }
  | {
      kind: 'approved' | 'rejected'
      /** 16 hex characters, as in the receipt. */
      by: string
      /** Visible form of the decider's name. Shown to approvers, who know each other, and in channels if the account wants it. */
      by_name?: string
      /** Like `by_name`, but for the person for whom a delegate decided; `by` is that person's reference. */
      for_name?: string
      /** The decider is the person whose card this is. */
      by_you?: true
      method: string
      at: Date
      comment: string | null
      decision_id: string
    }
  | { kind: 'expired' }
  | { kind: 'withdrawn' }

/** A vote as approvers see it, who know each other. */
interface CardVote {
  /** Visible form of the voter's name, or their reference when the name is no longer known. */
  name: string
  /** Like `name`, but for the person for whom a delegate voted. */
  for_name?: string
  /** The voter is the person whose card this is. */
  you?: true
}

/** A row of caller text: `label` is ours for known keys, the caller's own key for unknown ones. Neither is safe markup. */
export interface CardRow {
  label: string
  /** Whether the label is ours (true) or the caller's (false): callers' labels are marked as theirs (T44). */
  known: boolean
  /** Visible form of the text: hidden characters spelled out as `[U+202E]` (T43). */
  text: string
  /** Shown in full and in a fixed-width font: JSON, fingerprints. */
  code: boolean
}

/** A finding about the arguments, as the caller's scanner reported it. */
export interface CardFinding {
  detector: string
  severity: string
  snippet: string
}

/**
 * Everything a card shows, taken from the stored request alone: two renderings of one version are equal, on every platform.
 * Rows and findings appear only while the request is pending, and only on approvers' cards: neither a channel nor a
 * chat's history keeps the context.
 */
export interface CardView extends TextWarnings {
  request_id: string
  version: number
  audience: 'approver' | 'channel'
  status: CardStatus
  /** The request names this recipient as one to whom its outcome goes; only when it is over. */
  told?: true
  /** The recipient may not open the request's page; the card then has no link to it. */
  no_page?: true
  /** Visible form, in full; the renderer cuts and says by how much. */
  action: string
  requested_by: { key_name: string; account_name: string }
  high_impact: boolean
  /** What the caller says about undoing the action, in our words. */
  reversibility?: string
  /** How long an approval can be used, in our words. */
  use_within?: string
  /** What was decided before, and what differs; only on approvers' cards, while the request is pending. Names in visible form. */
  precedents?: PrecedentWords<Date>
  /** A dry run: no person decides it. */
  sandbox?: true
  quorum: { approved: number; needed: number }
  /** The approvals so far; empty for readers who may not see names. */
  approvals: CardVote[]
  /** Approvers who have not voted, while the request is pending; empty for the same readers as `approvals`. */
  waits_for: Pick<CardVote, 'name' | 'you'>[]
  rows: CardRow[]
  findings: CardFinding[]
  created_at: Date
  expires_at: Date
  /** The recipient was found by e-mail address alone: the card invites them to link their identity. */
  invite_to_link?: true
  /** The message replaces one that did not arrive or was deleted: the person may hear of the request only now. */
  replaces?: true
  /** Visible form of the name of the person for whom the recipient stands in; only on the delegate's card. */
  on_behalf_of?: string
  /** The decision of the vote already cast by or for this person; they are asked nothing more. */
  voted?: Outcome
  /** Visible form of the name of the person who voted in their place: their delegate, or the person for whom they stand in. */
  voted_by?: string
  /** `<BASE_URL>/a/<id>?d=approve|reject`, and without `d` for details: none holds a secret. */
  links: { approve: string; reject: string; details: string }
}

/** A request on the card of a batch. */
export type BatchItem = Pick<CardView, 'request_id' | 'status' | 'action' | 'quorum' | 'voted' | 'voted_by'>

/**
 * The card of several requests that one call made. It shows the action and the state of each, never the context: the inbox, to
 * which its buttons lead, shows all that is signed.
 */
export interface BatchView extends TextWarnings {
  kind: 'batch'
  /** `bat_…`, under the field name that every card uses for its subject. */
  request_id: string
  version: number
  audience: CardView['audience']
  /** `over`: none of them is pending. */
  status: { kind: 'pending' | 'over' }
  /** In the order in which they were asked for. */
  items: BatchItem[]
  requested_by: CardView['requested_by']
  /** When the first and the last of the pending ones expire. */
  expires: { first: Date; last: Date }
  /** As on cards of requests; all names where requests differ in it. */
  on_behalf_of?: string
  invite_to_link?: true
  replaces?: true
  /** `<BASE_URL>/?batch=<id>`, and with `&d=approve|reject`: no secret in it. */
  links: { approve: string; reject: string; details: string }
}

/** A reply under the card of a batch: a reminder while it is pending, else that all are over. */
export interface BatchReplyView {
  kind: 'batch'
  request_id: string
  batch: BatchView
  automatic: boolean
}

/** A reply in the thread under a card. */
export type ReplyView = RequestReplyView | BatchReplyView

export type RequestReplyView = Pick<CardView, 'request_id' | 'audience' | 'action' | 'requested_by'> &
  Partial<TextWarnings> & { details: string } & (
    | { kind: 'decided'; status: CardStatus & { kind: 'approved' | 'rejected' } }
    /** Said only where the request wants its outcome told. */
    | { kind: 'ended'; status: CardStatus & { kind: 'expired' | 'withdrawn' }; expires_at: Date }
    | { kind: 'reminder'; expires_at: Date; automatic: boolean }
  )

/** The state of an agent's request for a key, as a card shows it. */
export type ConsentStatus =
  | { kind: 'pending' }
  | { kind: 'approved'; at: Date; method: string }
  | {
      kind: 'rejected'
      /** Absent when wrong matching codes rejected the request. */
      by_owner?: { at: Date; method: string }
    }
  | { kind: 'expired' }
  | {
      kind: 'collected'
      at: Date
      /** The address from which the key was collected. */
      address?: string
    }

/**
 * The card that tells the owner that an agent asks for a key. It does not hold the matching code: the owner must bring the
 * code from the agent's own screen to the page. If the card showed it, the owner could copy a stranger's code and let that
 * request pass; and people wave through a mere comparison of two texts that stand side by side.
 */
export interface ConsentView {
  kind: 'consent'
  /** `bst_…`, under the field name that every card uses for its subject. */
  request_id: string
  version: number
  audience: 'approver'
  status: ConsentStatus
  /** Visible form of the caller's own name for itself; shown as unverified. */
  client_name: string
  /** Our warning about letters that pass for others. It quotes the name. */
  look_alike?: string
  scopes: Scope[]
  requested_from: string
  created_at: Date
  expires_at: Date
  /** As on cards of requests. */
  invite_to_link?: true
  /** `<BASE_URL>/b/<id>`: no secret in it. */
  links: { details: string }
}

/**
 * The card that remains in a chat that is not, or no longer, the approver's: our words alone. A person who reads that chat
 * learns nothing more about the request (T37).
 */
export interface MovedView {
  kind: 'moved'
  /** The same chat holds a second copy of the card, which follows the request. */
  twice?: true
}

/**
 * The direct message that tells a person of a change of their factors or rights (T34). It is posted once and never edited,
 * since what happened stays true.
 */
export interface NoticeView {
  kind: 'notice'
  /** `evt_…` of the audit entry, under the field name that every message uses for its subject. */
  request_id: string
  version: 1
  notice: FactorNotice
  /** `<BASE_URL>/account`: where to act if the change was another person's doing. */
  links: { details: string }
}

/** The first message in a newly connected channel: it shows that the app can post there. */
export interface GreetingView {
  kind: 'greeting'
  /** `cln_…` of the link that connected the channel, under the field name that every message uses for its subject. */
  request_id: string
  version: 1
  /** The account's name, as its owner chose it. */
  account: string
  links: { details: string }
}

type NamedView = BatchView | ConsentView | MovedView | NoticeView | GreetingView

/** Checks whether a view is of that kind. The card of a request has no `kind`. */
export function isKind<Kind extends NamedView['kind']>(
  view: object,
  kind: Kind,
): view is Extract<NamedView, { kind: Kind }> {
  return 'kind' in view && view.kind === kind
}

/** Every view that is posted as a new message; `MovedView` only replaces one. */
export type PostView = CardView | BatchView | ConsentView | NoticeView | GreetingView
