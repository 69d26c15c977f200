import { ours } from '../../src/domain/card-parts.ts'
import {
  NOTICE_LINK,
  type NoticeView,
  noticeLines,
  noticeSummary,
  noticeTitle,
} from '../../src/domain/notice-view.ts'
import { openUrl } from './actions.ts'
import { drawParts, message, titled } from './draw.ts'
import type { TeamsMessage } from './elements.ts'

/** Draws a change of somebody's factors as Adaptive Card 1.5; pure. Its one button opens the account page. */
export function renderNotice(view: NoticeView): TeamsMessage {
  const { details } = view.links
  const button = openUrl(NOTICE_LINK, details, { tooltip: 'Opens your account page' })
  const body = [titled(noticeTitle(view), 'warning'), ...drawParts([ours(...noticeLines(view))])]
  return message(noticeSummary(view), body, [button], details)
}
