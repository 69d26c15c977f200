/**
 * What stays of a card in a chat that is not, or no longer, the approver's: our words alone. Whoever reads that chat learns
 * nothing more about the request (T37).
 */
export interface MovedView {
  kind: 'moved'
}

export const MOVED_HEADING = 'Not shown here any more'
export const MOVED_SENTENCE =
  'This chat account is not linked to the person who is asked. If that should be you, link it again.'

/** Tells it from the cards. */
export function isMovedView(view: object): view is MovedView {
  return 'kind' in view && view.kind === 'moved'
}
