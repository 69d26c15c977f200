import { button } from '../../webauthn-page/kit/dom/button.ts'
import { sentenceOf } from '../../webauthn-page/kit/dom/notice.ts'
import { section } from '../parts/section.ts'
import type { PageContext } from '../shell/page-entry.ts'
import { channelsSection } from './channels-section.ts'
import type { ChatSetup } from './chat-setup.ts'
import { slackSection } from './slack-section.ts'
import { teamsSection } from './teams-section.ts'

/** Slack, Teams and the channels that are told, or what went wrong with all of them. */
export function chatSections(chat: ChatSetup, context: PageContext): HTMLElement[] {
  if ('failure' in chat) {
    const part = section('Chat', 'Cards in Slack and Microsoft Teams.')
    part.slot.show('error', sentenceOf(chat.failure))
    part.body.append(button('Try again', 'plain', () => context.done()))
    return [part.element]
  }
  const { apps, channels, identities } = chat
  const mine = (platform: 'slack' | 'teams') => identities.filter((one) => one.platform === platform)
  const anywhere = apps.slack.configured || apps.teams.configured || channels.length > 0
  return [
    slackSection(apps.slack, mine('slack'), context),
    teamsSection(apps.teams, mine('teams'), context),
    ...(anywhere ? [channelsSection(channels, context)] : []),
  ]
}
