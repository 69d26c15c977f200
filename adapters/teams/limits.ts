/**
 * Limits for our cards. Sizes are bytes of the activity as JSON in UTF-16, as Teams counts. Its documentation says 100 KB;
 * for older clients and on older pages, 40 and 28. We stay below all of them.
 */
export const TEAMS_LIMITS = {
  /** The version Teams supports and universal actions need (learn.microsoft.com, "Work with Universal Actions"). */
  version: '1.5',
  activityBytes: 25_000,
  /** The part of `activityBytes` for what the SDK adds to a card: ids, service address, conversation, names. */
  envelopeBytes: 5000,
  /** Most requests shown in one answer to `pending`; the rest are counted. */
  pendingRows: 10,
} as const

/** Most characters of a card and its summary as JSON. */
export const CARD_BUDGET = (TEAMS_LIMITS.activityBytes - TEAMS_LIMITS.envelopeBytes) / 2
