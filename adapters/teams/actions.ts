import type { CardView } from '../../src/domain/card-view.ts'

/** What `Action.Execute` and, on old clients, `Action.Submit` tell the bot. Neither decides anything (T46). */
export const VERBS = { refresh: 'countersign.refresh', details: 'countersign.details' } as const

type Verb = (typeof VERBS)[keyof typeof VERBS]

/** Opens the browser; the bot never hears of it. */
export interface OpenUrlAction {
  type: 'Action.OpenUrl'
  title: string
  url: string
  /** A colour beside the word, where the client has one. */
  style?: 'positive' | 'destructive'
  /** Read out by screen readers; since 1.5, ignored by others. */
  tooltip?: string
}

/** Asks the bot (since 1.4); clients that do not know it send `fallback` as a message whose `value` is the data. */
export interface ExecuteAction {
  type: 'Action.Execute'
  title: string
  verb: Verb
  data: { request_id: string }
  fallback: { type: 'Action.Submit'; title: string; data: { verb: Verb; request_id: string } }
}

export function openUrl(title: string, url: string, more: Partial<OpenUrlAction> = {}): OpenUrlAction {
  return { type: 'Action.OpenUrl', title, url, ...more }
}

function execute(title: string, verb: Verb, request_id: string): ExecuteAction {
  const fallback = { type: 'Action.Submit' as const, title, data: { verb, request_id } }
  return { type: 'Action.Execute', title, verb, data: { request_id }, fallback }
}

/** Asks what is true now. */
export function refresh(request_id: string): ExecuteAction {
  return execute('Refresh', VERBS.refresh, request_id)
}

/**
 * Buttons below a card. `Approve…` and `Reject…` are links to the hosted page, where the decision is made; whoever voted, a
 * channel and a dry run get a link to look at it. `Details` shows more of the context here, so a channel has none. Once
 * the request is closed there is nothing to do but look.
 */
export function cardActions(view: CardView, shows: 'card' | 'details'): (OpenUrlAction | ExecuteAction)[] {
  const { status, audience, voted, sandbox, links, request_id } = view
  if (status.kind !== 'pending') return [openUrl('Details on the approval page', links.details)]
  const approver = audience === 'approver'
  const page =
    approver && voted === undefined && !sandbox
      ? [
          openUrl('Approve…', links.approve, {
            style: 'positive',
            tooltip: 'Approve: opens the approval page',
          }),
          openUrl('Reject…', links.reject, {
            style: 'destructive',
            tooltip: 'Reject: opens the approval page',
          }),
        ]
      : [openUrl('Open the approval page', links.details)]
  return [
    ...page,
    ...(approver && shows === 'card' ? [execute('Details', VERBS.details, request_id)] : []),
    refresh(request_id),
  ]
}
