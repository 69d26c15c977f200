import type { Scope } from './api-key.ts'

/** What became of an agent's request for a key, as a card says it. */
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
      /** Address of whoever has the key now. */
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

/** Tells the two kinds of cards apart. */
export function isConsentView(view: object): view is ConsentView {
  return 'kind' in view && view.kind === 'consent'
}
