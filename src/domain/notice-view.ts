import { bold, code, type Piece, words } from './card-parts.ts'
import {
  type FactorNotice,
  NOTICE_ADVICE,
  noticeHeading,
  noticeMore,
  noticeName,
  timeWords,
} from './factor-notice.ts'

/**
 * What a direct message tells a person of a change of their factors or rights (T34). It is posted once and never edited:
 * what happened stays true.
 */
export interface NoticeView {
  kind: 'notice'
  /** `evt_…` of the entry, under the name that all messages have for what they are about. */
  request_id: string
  version: 1
  notice: FactorNotice
  /** `<BASE_URL>/account`: what to do if it was somebody else. */
  links: { details: string }
}

/** Tells it from the cards. */
export function isNoticeView(view: object): view is NoticeView {
  return 'kind' in view && view.kind === 'notice'
}

/** What the link to the account page says. */
export const NOTICE_LINK = 'Open my account'

const SIGN = '🔐'

export function noticeTitle({ notice }: NoticeView): string {
  return `${SIGN} ${noticeHeading(notice)}`
}

/** For notifications: our words alone. */
export function noticeSummary({ notice }: NoticeView): string {
  return `${noticeHeading(notice)}. ${NOTICE_ADVICE}`
}

/** What stands below the title, for every platform. What others named stands at the end of its line (T43). */
export function noticeLines({ notice }: NoticeView): Piece[][] {
  const { at, address, by_other, name } = notice
  const more = noticeMore(notice)
  return [
    ...(name === undefined ? [] : [[bold('Name: '), code(noticeName(name))]]),
    [bold('When: '), words(timeWords(at))],
    ...(address === undefined ? [] : [[bold('From: '), code(address)]]),
    ...(by_other ? [[words('Somebody else did it.')]] : []),
    ...(more === undefined ? [] : [[words(more)]]),
    [words(NOTICE_ADVICE)],
  ]
}
