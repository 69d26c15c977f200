import type { types } from '@slack/bolt'
import {
  CONSENT_SIGNS,
  consentAdvice,
  consentHeading,
  consentLink,
  consentParts,
  consentSummary,
} from '../../src/domain/consent-parts.ts'
import type { ConsentView } from '../../src/domain/consent-view.ts'
import { ACTION_IDS, ACTIONS_BLOCK_ID } from './action-buttons.ts'
import { escapeMrkdwn } from './escape.ts'
import { drawParts, header, link, note, plain, richText, type SlackMessage, section } from './rich-text.ts'

const INVITATION =
  'You were found by your e-mail address. Type /countersign link to tell Countersign who you are in this workspace.'

/**
 * Draws the card of an agent that asks for a key; pure, and always within Slack's limits: a name has 60 characters. Its one
 * button opens the consent page.
 */
export function renderConsent(view: ConsentView): SlackMessage {
  const sign = CONSENT_SIGNS[view.status.kind]
  const blocks: types.KnownBlock[] = [
    header(`${sign} ${consentHeading(view)}`),
    richText(drawParts(consentParts(view))),
    ...(view.status.kind === 'pending' ? [button(view)] : [bareLink(view)]),
    note(consentAdvice(view, 'Slack')),
    ...(view.invite_to_link && view.status.kind === 'pending' ? [note(INVITATION)] : []),
  ]
  return { blocks, text: consentSummary(view) }
}

/** What is posted when Slack refuses the blocks; nothing the caller wrote is in it. */
export function plainConsent(view: ConsentView): string {
  const url = escapeMrkdwn(view.links.details)
  return `${consentSummary(view)} <${url}|Open the consent page> ${view.request_id}`
}

function button(view: ConsentView): types.ActionsBlock {
  const { details: action_id } = ACTION_IDS
  const text = plain(consentLink(view))
  const label = 'Look and decide: opens the consent page'
  const element = {
    type: 'button',
    action_id,
    text,
    url: view.links.details,
    style: 'primary',
    accessibility_label: label,
  } as const
  return { type: 'actions', block_id: ACTIONS_BLOCK_ID, elements: [element] }
}

function bareLink(view: ConsentView): types.RichTextBlock {
  return richText([section([link(consentLink(view), view.links.details)])])
}
