import {
  NOTICE_LINK,
  type NoticeView,
  noticeLines,
  noticeSummary,
  noticeTitle,
} from '../../src/domain/notice-view.ts'
import { escapeMrkdwn } from './escape.ts'
import { drawLines, header, link, richText, type SlackMessage, section } from './rich-text.ts'

/** Draws a change of somebody's factors; pure, and always within Slack's limits. */
export function renderNotice(view: NoticeView): SlackMessage {
  const lines = drawLines(noticeLines(view))
  return {
    blocks: [
      header(noticeTitle(view)),
      richText([section(...lines, [link(NOTICE_LINK, view.links.details)])]),
    ],
    text: noticeSummary(view),
  }
}

/** What is posted when Slack refuses the blocks. */
export function plainNotice(view: NoticeView): string {
  return `${noticeSummary(view)} <${escapeMrkdwn(view.links.details)}|${NOTICE_LINK}>`
}
