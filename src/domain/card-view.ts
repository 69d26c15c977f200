import type { Scope } from './api-key.ts'
import type { FactorNotice } from './factor-notice.ts'
import type { Outcome } from './receipt.ts'

/** The state of the request, as a card says it. */
export type CardStatus =
  | { kind: 'pending' }
  | {
      kind: 'approved' | 'rejected'
      /** 16 hex characters, as in the receipt. */
      by: string
      /** Visible form of the decider's name: told to approvers, who know each other, and to channels whose account wants that. */
      by_name?: string
      /** As `by_name`, of the person for whom a delegate decided: `by` is theirs. */
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

/** A vote of a person, as those who know each other read it. */
interface CardVote {
  /** Visible form of their name, or their reference where it is not known any more. */
  name: string
  /** As `name`, of the person for whom a delegate voted. */
  for_name?: string
  /** It is the person whose card this is. */
  you?: true
}

/** A row of caller text: `label` is ours for known keys, the caller's own key for unknown ones. Neither is safe markup. */
export interface CardRow {
  label: string
  /** Ours (true) or the caller's (false): callers' labels are shown as such (T44). */
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
 * Everything a card shows, drawn from the stored request alone: two renderings of one version are equal, on every platform.
 * Rows and findings are there while the request is pending, and on the cards of approvers only: neither a channel nor a
 * chat's history keeps the context.
 */
export interface CardView {
  request_id: string
  version: number
  audience: 'approver' | 'channel'
  status: CardStatus
  /** Visible form, in full; the renderer cuts and says by how much. */
  action: string
  /** Something in action or context is normally invisible; it is shown in brackets. */
  hidden_characters: boolean
  /** Something in action or context is read from right to left, so that a chat app may draw it in another order. */
  two_directions?: true
  /** The first of our sentences about letters that pass for others. It quotes a word of the caller. */
  look_alike?: string
  requested_by: { key_name: string; account_name: string }
  high_impact: boolean
  /** What the caller says of undoing it, in our words. */
  reversibility?: string
  /** A dry run: no person decides it. */
  sandbox?: true
  quorum: { approved: number; needed: number }
  /** Who approved; empty for readers who are told no names. */
  approvals: CardVote[]
  /** Who is asked and has not voted, while it is pending. As `approvals`. */
  waits_for: Pick<CardVote, 'name' | 'you'>[]
  rows: CardRow[]
  findings: CardFinding[]
  created_at: Date
  expires_at: Date
  /** Sent to whom the platform knows by this person's e-mail address: they are invited to link their identity. */
  invite_to_link?: true
  /** Visible form of the name of the person for whom this one stands in; on their card alone. */
  on_behalf_of?: string
  /** This person has voted already; they are asked nothing more. */
  voted?: Outcome
  /** Visible form of the name of who did so in their place: their delegate, or the person for whom they stand in. */
  voted_by?: string
  /** `<BASE_URL>/a/<id>?d=approve|reject`, and without `d` for details: no secret in any of them. */
  links: { approve: string; reject: string; details: string }
}

/** A line under a card. */
export type ReplyView = Pick<CardView, 'request_id' | 'audience' | 'action' | 'requested_by'> & {
  details: string
} & (
    | { kind: 'decided'; status: CardStatus & { kind: 'approved' | 'rejected' } }
    | { kind: 'reminder'; expires_at: Date; automatic: boolean }
  )

/** The state of an agent's request for a key, as a card says it. */
export type ConsentStatus =
  | { kind: 'pending' }
  | { kind: 'approved'; at: Date; method: string }
  | {
      kind: 'rejected'
      /** Absent when wrong codes did it. */
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
 * What a card tells the owner of an agent that asks for a key. The matching code is not in it: the owner must bring it from
 * the agent's own screen to the page. A card that showed it would let a stranger's request pass by copying, and comparing
 * two texts that stand side by side is what people wave through.
 */
export interface ConsentView {
  kind: 'consent'
  /** `bst_…`, under the name that all cards have for what they are about. */
  request_id: string
  version: number
  audience: 'approver'
  status: ConsentStatus
  /** Visible form; the caller's own word, and shown as unverified. */
  client_name: string
  /** Our sentence about letters that pass for others. It quotes the name. */
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
 * What stays of a card in a chat that is not, or no longer, the approver's: our words alone. A person who reads that chat learns
 * nothing more about the request (T37).
 */
export interface MovedView {
  kind: 'moved'
  /** The card is in the same chat once more, where it follows its request. */
  twice?: true
}

/**
 * What a direct message tells a person of a change of their factors or rights (T34). It is posted once and never edited:
 * what happened stays true.
 */
export interface NoticeView {
  kind: 'notice'
  /** `evt_…` of the entry, under the name that all messages have for what they are about. */
  request_id: string
  version: 1
  notice: FactorNotice
  /** `<BASE_URL>/account`: what to do if it was another person. */
  links: { details: string }
}

/** The first message in a channel that is connected: it shows that the app can post there. */
export interface GreetingView {
  kind: 'greeting'
  /** `cln_…` of the link by which it was connected, under the name that all messages have for what they are about. */
  request_id: string
  version: 1
  /** The account's name: its owner's word. */
  account: string
  links: { details: string }
}

type NamedView = ConsentView | MovedView | NoticeView | GreetingView

/** Is it of that kind? The card of a request has none. */
export function isKind<Kind extends NamedView['kind']>(
  view: object,
  kind: Kind,
): view is Extract<NamedView, { kind: Kind }> {
  return 'kind' in view && view.kind === kind
}

/** What is posted. */
export type PostView = CardView | ConsentView | NoticeView | GreetingView
