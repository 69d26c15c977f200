/** How often something may be done: one after the other at this distance, so many without waiting after a pause. */
export interface Rate {
  /** Milliseconds between two. */
  every: number
  burst: number
}

export interface SlackRates {
  /** Messages in one conversation, thread replies included. */
  conversation: Rate
  /** Messages in one workspace. */
  posts: Rate
  /** Every other method, each for itself, in one workspace. */
  method: Rate
}

/**
 * What one process does at most, a little below what Slack allows (docs.slack.dev, "Rate limits"): a message a second in a
 * conversation, several hundred a minute in a workspace, and 50 calls a minute of a method of tier 3 (`chat.update`,
 * `conversations.open`, `users.lookupByEmail`): burst and a minute's calls together are 50.
 */
export const SLACK_RATES: SlackRates = {
  conversation: { every: 1_000, burst: 1 },
  posts: { every: 250, burst: 20 },
  method: { every: 60_000 / 45, burst: 5 },
}
