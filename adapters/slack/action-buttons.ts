import type { types } from '@slack/bolt'
import type { CardView } from '../../src/domain/card-view.ts'
import { plain } from './rich-text.ts'

/** Slack reports a click on a link button as well: the receiver acknowledges these and does nothing (T46). */
export const ACTION_IDS = {
  approve: 'countersign_approve',
  reject: 'countersign_reject',
  details: 'countersign_details',
} as const

export const ACTIONS_BLOCK_ID = 'countersign_actions'

/**
 * Plain links to the hosted page, where the decision is made: a click in Slack decides nothing. Empty once the request is
 * decided. Whoever voted, a channel and a dry run get `Details` alone.
 */
export function actionButtons(view: CardView): types.ActionsBlock[] {
  if (view.status.kind !== 'pending') return []
  const mayDecide = view.audience === 'approver' && view.voted === undefined && !view.sandbox
  const details = linkButton(
    ACTION_IDS.details,
    'Details',
    view.links.details,
    'Details: opens the approval page',
  )
  const decide: types.Button[] = [
    {
      ...linkButton(ACTION_IDS.approve, 'Approve…', view.links.approve, 'Approve: opens the approval page'),
      style: 'primary',
    },
    {
      ...linkButton(ACTION_IDS.reject, 'Reject…', view.links.reject, 'Reject: opens the approval page'),
      style: 'danger',
    },
  ]
  return [{ type: 'actions', block_id: ACTIONS_BLOCK_ID, elements: [...(mayDecide ? decide : []), details] }]
}

function linkButton(id: string, text: string, url: string, label: string): types.Button {
  return { type: 'button', action_id: id, text: plain(text), url, accessibility_label: label }
}
