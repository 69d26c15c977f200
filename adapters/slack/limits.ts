import type { types } from '@slack/bolt'

/** Most UTF-16 units of a heading; more gets `invalid_blocks`, and the person sees nothing (docs.slack.dev, "Block Kit"). */
export const HEADER_LENGTH = 150

/**
 * Slack refuses a message whose blocks are too long together (`msg_blocks_too_long`) but does not document the limit. Reports
 * name 11 341 characters of text and 13 297 in all (slackapi/bolt-js issues 2867 and 2509). We stay well below.
 */
export const MESSAGE_BUDGET = {
  /** Characters of shown text. */
  text: 8000,
  /** Characters of the blocks as JSON. */
  json: 12_000,
} as const

/** Checks whether all blocks together are within the budget of one message. */
export function fits(blocks: types.KnownBlock[]): boolean {
  return JSON.stringify(blocks).length <= MESSAGE_BUDGET.json && textLength(blocks) <= MESSAGE_BUDGET.text
}

/** Counts the characters of every `text` and `fallback` in the blocks. */
function textLength(value: object): number {
  return Object.entries(value).reduce((sum, [name, inner]: [string, unknown]) => {
    if (typeof inner === 'object' && inner !== null) return sum + textLength(inner)
    return typeof inner === 'string' && (name === 'text' || name === 'fallback') ? sum + inner.length : sum
  }, 0)
}
