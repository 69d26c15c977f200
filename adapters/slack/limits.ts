import type { types } from '@slack/bolt'

/**
 * What Slack accepts in one message, in UTF-16 units and pieces (docs.slack.dev, "Block Kit"). Renderer and tests read
 * the same table; exceeding one is answered `invalid_blocks` and the person sees nothing at all.
 */
export const SLACK_LIMITS = {
  blocks: 50,
  headerText: 150,
  /** Also the most that any text object holds. */
  sectionText: 3000,
  sectionFields: 10,
  fieldText: 2000,
  contextElements: 10,
  actionsElements: 25,
  buttonText: 75,
  buttonUrl: 3000,
  buttonValue: 2000,
  accessibilityLabel: 75,
  actionId: 255,
  blockId: 255,
  confirmTitle: 100,
  confirmText: 300,
  confirmButton: 30,
  /** The top-level `text`: more is discouraged, over 40 000 is cut by Slack. */
  fallbackText: 4000,
} as const

/**
 * Slack also refuses a message whose blocks are too long together (`msg_blocks_too_long`) without documenting where that
 * is: reported from 11 341 characters of text and from 13 297 in all (slackapi/bolt-js issues 2867 and 2509). We stay well below.
 */
export const MESSAGE_BUDGET = {
  /** Characters of shown text. */
  text: 8000,
  /** Characters of the blocks as JSON. */
  json: 12_000,
} as const

/** Is it within what Slack takes in one message, all blocks together? */
export function fits(blocks: types.KnownBlock[]): boolean {
  return JSON.stringify(blocks).length <= MESSAGE_BUDGET.json && textLength(blocks) <= MESSAGE_BUDGET.text
}

/** Characters of every `text` and `fallback` in the blocks. */
function textLength(value: object): number {
  return Object.entries(value).reduce((sum, [name, inner]: [string, unknown]) => {
    if (typeof inner === 'object' && inner !== null) return sum + textLength(inner)
    return typeof inner === 'string' && (name === 'text' || name === 'fallback') ? sum + inner.length : sum
  }, 0)
}
