import {
  CONSENT_SIGNS,
  consentAdvice,
  consentHeading,
  consentLink,
  consentParts,
  consentSummary,
} from '../../src/domain/consent-parts.ts'
import type { ConsentStatus, ConsentView } from '../../src/domain/consent-view.ts'
import { openUrl, refresh } from './actions.ts'
import { drawParts, drawsApart, type Ground, message, note, titled } from './draw.ts'
import type { TeamsMessage } from './elements.ts'

const INVITATION =
  'You were found by your e-mail address. Write “link” to this app to tell Countersign who you are in Teams.'

const BRACES = 'Braces are drawn apart here: “{ {” and “$ {” were written without the blank.'

const GROUNDS: Partial<Record<ConsentStatus['kind'], Ground>> = {
  approved: 'good',
  rejected: 'attention',
  collected: 'warning',
}

/**
 * Draws the card of an agent that asks for a key as Adaptive Card 1.5; pure, and far below the size that Teams takes. One
 * button opens the consent page; as long as there is something to decide, another asks what is true now.
 */
export function renderConsent(view: ConsentView): TeamsMessage {
  const open = view.status.kind === 'pending'
  const parts = consentParts(view)
  const body = [
    titled(`${CONSENT_SIGNS[view.status.kind]} ${consentHeading(view)}`, GROUNDS[view.status.kind]),
    ...drawParts(parts),
    ...(drawsApart(parts) ? [note(BRACES)] : []),
    note(consentAdvice(view, 'Teams')),
    ...(open && view.invite_to_link ? [note(INVITATION)] : []),
  ]
  const tooltip = 'Opens the consent page'
  const button = openUrl(
    consentLink(view),
    view.links.details,
    open ? { style: 'positive', tooltip } : { tooltip },
  )
  const actions = open ? [button, refresh(view.request_id)] : [button]
  return message(consentSummary(view), body, actions, view.links.details)
}
