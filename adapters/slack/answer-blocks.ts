import type { types } from '@slack/bolt'
import { shortLine } from '../../src/domain/cut-text.ts'
import type { ChatAnswer } from '../../src/flow/chat/chat-answer.ts'
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

function renderHelp({ unknown, linked_as, commands }: ChatAnswer & { kind: 'help' }): SlackMessage {
  const heading = unknown ? 'Countersign does not know this command' : 'Countersign in Slack'
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

const LINKS: Record<
  (ChatAnswer & { kind: 'link' })['purpose'],
  { heading: string; does: string; button: string; advice: string }
> = {
  link: {
    heading: 'Link your Slack identity',
    does: 'Open this link in a browser, sign in and confirm: then requests reach you here under your own name.',
    button: 'Link my identity…',
    advice: 'For you alone. Never share this link: whoever confirms it would pass for you here.',
  },
  browser: {
    heading: 'Make a browser known',
    does: 'Open this link in the browser that should be known. Signing in there still takes your e-mail and a code.',
    button: 'Make this browser known…',
    advice: 'For you alone. Never share this link: it would make a stranger’s browser known as yours.',
  },
  channel: {
    heading: 'Have this channel told of requests',
    does: 'Open this link in a browser and sign in as the owner of the account. The channel then sees action, requester and outcome of every request, never the context.',
    button: 'Connect this channel…',
    advice: 'For you alone. Never share this link.',
  },
}

function renderLink({ purpose, url, expires_at }: ChatAnswer & { kind: 'link' }, now: Date): SlackMessage {
  const { heading, does, button, advice } = LINKS[purpose]
  const minutes = Math.max(1, Math.round((expires_at.getTime() - now.getTime()) / 60_000))
  const left = minutes === 1 ? 'one minute' : `${minutes} minutes`
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

const TONE_SIGNS = { done: '✅', refused: '⛔', problem: '⚠️' } as const

function renderNotice({ tone, heading, sentence }: ChatAnswer & { kind: 'notice' }): SlackMessage {
  return {
    blocks: [header(`${TONE_SIGNS[tone]} ${heading}`), richText([section([words(sentence)])])],
    text: escapeMrkdwn(`${heading}. ${sentence}`),
  }
}
