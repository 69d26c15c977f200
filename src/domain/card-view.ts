import type { Outcome } from './receipt.ts'

/** What became of the request, as a card says it. */
export type CardStatus =
  | { kind: 'pending' }
  | {
      kind: 'approved' | 'rejected'
      by: string
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
 * The channel's card has no rows and no findings.
 */
export interface CardView {
  request_id: string
  version: number
  audience: 'approver' | 'channel'
  status: CardStatus
  /** Visible form, in full; the renderer cuts and says by how much. */
  action: string
  /** Something in action or context is invisible or mixes scripts. */
  hidden_characters: boolean
  requested_by: { key_name: string; account_name: string }
  high_impact: boolean
  quorum: { approved: number; needed: number }
  rows: CardRow[]
  findings: CardFinding[]
  created_at: Date
  expires_at: Date
  /** This person has voted already; they are asked nothing more. */
  voted?: Outcome
  /** `<BASE_URL>/a/<id>?d=approve|reject`, and without `d` for details: no secret in any of them. */
  links: { approve: string; reject: string; details: string }
}

/** A line under a card. */
export type ReplyView =
  | {
      kind: 'decided'
      status: CardStatus & { kind: 'approved' | 'rejected' }
      request_id: string
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
