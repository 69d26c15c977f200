import type { Outcome } from './receipt.ts'

/** What became of the request, as a card says it. */
export type CardStatus =
  | { kind: 'pending' }
  | {
      kind: 'approved' | 'rejected'
      /** 16 hex characters, as in the receipt. */
      by: string
      /** Visible form of the decider's name: told to approvers, who know each other, never to a channel. */
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
  /** The first of our sentences about letters that pass for others. It quotes a word of the caller. */
  look_alike?: string
  requested_by: { key_name: string; account_name: string }
  high_impact: boolean
  /** A dry run: no person decides it. */
  sandbox?: true
  quorum: { approved: number; needed: number }
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
export type ReplyView =
  | {
      kind: 'decided'
      status: CardStatus & { kind: 'approved' | 'rejected' }
      request_id: string
      action: string
      details: string
    }
  | {
      kind: 'reminder'
      request_id: string
      action: string
      expires_at: Date
      automatic: boolean
      details: string
    }
