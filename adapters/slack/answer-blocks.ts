import type { types } from '@slack/bolt'
import { shortLine } from '../../src/domain/cut-text.ts'
import type { ChatAnswer } from '../../src/flow/chat/chat-answer.ts'
import { helpHeading, linkTimeLeft, linkWords, NOTICE_SIGNS } from '../../src/flow/chat/chat-answer.ts'
import { escapeMrkdwn } from './escape.ts'
import { renderPending } from './pending-blocks.ts'
import {
  bold,
  code,
  header,
  type Inline,
  moment,
  note,
  plain,
  richText,
  type SlackMessage,
  section,
  words,
} from './rich-text.ts'
import { renderVerdict } from './verdict-blocks.ts'

/** The button of a one-time link; Slack reports the click, and it changes nothing. */
export const OPEN_LINK_ID = 'countersign_open_link'

const PERSON_LENGTH = 200

/** Draws what we answer to a command; pure. `sharedBy`: the Slack user id of whoever shows a verdict to a channel. */
export function renderAnswer(
  answer: ChatAnswer,
  { now, sharedBy }: { now: Date; sharedBy?: string | undefined },
): SlackMessage {
  switch (answer.kind) {
    case 'verdict':
      return renderVerdict(answer.view, { sharedBy })
    case 'help':
      return renderHelp(answer)
    case 'link':
      return renderLink(answer, now)
    case 'pending':
      return renderPending(answer)
    case 'notice':
      return renderNotice(answer)
  }
}

function renderHelp(answer: ChatAnswer & { kind: 'help' }): SlackMessage {
  const { unknown, linked_as, commands } = answer
  const heading = helpHeading(answer, 'Slack')
  const who: Inline[] =
    linked_as === undefined
      ? [words('You are not linked yet: type '), code('/countersign link'), words('.')]
      : [bold('You are '), words(shortLine(linked_as, PERSON_LENGTH))]
  const lines = commands.map(({ usage, does }): Inline[] => [
    code(usage.startsWith('verify') ? `/${usage}` : `/countersign ${usage}`),
    words(` ${does}`),
  ])
  return {
    blocks: [
      header(unknown ? `❔ ${heading}` : heading),
      richText([section(who), section(...lines)]),
      note('Nothing is decided in Slack: decisions are made on the approval page.'),
    ],
    text: unknown ? `${heading}. /countersign help tells what there is.` : heading,
  }
}

function renderLink(answer: ChatAnswer & { kind: 'link' }, now: Date): SlackMessage {
  const { url, expires_at } = answer
  const { heading, does, button, advice } = linkWords(answer, 'Slack')
  const left = linkTimeLeft(answer, now)
  const open: types.Button = {
    type: 'button',
    action_id: OPEN_LINK_ID,
    text: plain(button),
    url,
    style: 'primary',
  }
  return {
    blocks: [
      header(heading),
      richText([
        section(
          [words(does)],
          [bold('Works once, for '), bold(left), words(' · until '), moment(expires_at)],
          [bold(`⚠️ ${advice}`)],
        ),
      ]),
      { type: 'actions', elements: [open] },
    ],
    text: `${heading}: a link for you alone, for ${left}.`,
  }
}

function renderNotice({ tone, heading, sentence }: ChatAnswer & { kind: 'notice' }): SlackMessage {
  return {
    blocks: [header(`${NOTICE_SIGNS[tone]} ${heading}`), richText([section([words(sentence)])])],
    text: escapeMrkdwn(`${heading}. ${sentence}`),
  }
}
