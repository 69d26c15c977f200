/**
 * What a card of ours may be. Sizes are bytes of the activity as JSON in UTF-16, as
 * Teams counts: it documents 100 KB, older clients and pages 40 and 28; we stay below all of them.
 */
export const TEAMS_LIMITS = {
  /** What Teams supports, and what universal actions need (learn.microsoft.com, "Work with Universal Actions"). */
  version: '1.5',
  activityBytes: 25_000,
  /** Of these for what the SDK wraps around a card: ids, service address, conversation, names. */
  envelopeBytes: 5000,
  /** Requests in one answer to `pending`; the rest is counted. */
  pendingRows: 10,
} as const

/** Characters that a card and its summary may have as JSON. */
export const CARD_BUDGET = (TEAMS_LIMITS.activityBytes - TEAMS_LIMITS.envelopeBytes) / 2
