import { expect } from 'vitest'
import { stored } from './caller.ts'
import { waitUntil } from './chat-platform.ts'
import { setPolicy } from './deciders.ts'
import { type LiveSetting, setUpOwner } from './live.ts'
import { addPerson } from './people.ts'
import { createSlackDriver, type SlackDriver } from './slack-driver.ts'
import { type SlackEmulator, type SlackMessage, startSlack } from './slack-emulator.ts'
import type { SentActivity, TeamsMessageState, TeamsPerson } from './teams-connector.ts'
import { linkTo, personNumber, startTeams, type TeamsSetting } from './teams-service.ts'

/**
 * A service with Slack and Teams. Its account has an owner with a passkey, another approver, and a channel on each platform;
 * everybody can be reached on both: in Teams they are linked, in Slack they are known by e-mail alone. A third person is known to
 * both platforms, and to nobody else.
 */
export interface BothChats extends LiveSetting {
  slack: SlackEmulator
  slackDriver: SlackDriver
  slackChannel: string
  teams: TeamsSetting
  /** The two in Teams; in Slack they are the members `owner` and `other`. */
  owners: TeamsPerson
  others: TeamsPerson
  close(): Promise<void>
}

const SIGNING_SECRET = 'f00df00df00df00df00df00df00df00d'

export async function startBothChats(): Promise<BothChats> {
  const users = ['owner', 'other', 'third'].map((name, index) => ({
    name,
    email: `person-${index + 1}@example.com`,
  }))
  const slack = await startSlack({ users })
  const teams = await startTeams({ work: true, people: 4, env: envOf(slack) }).catch(
    async (error: unknown) => {
      await slack.close()
      throw error
    },
  )
  const { service, tenantId, channel } = teams
  const [owners, others] = [personNumber(teams, 1), personNumber(teams, 2)]
  const live = await setUpOwner(service, 'person-1@example.com')
  const other = await addPerson(service, 'person-2@example.com')
  await linkTo(teams, { id: live.owner.userId }, owners)
  await linkTo(teams, other, others)
  const { account_id } =
    (await service.composition.deps.users.find(live.owner.userId)) ?? expect.unreachable()
  await setPolicy(service, account_id, { approvers: [live.owner.userId, other.id], quorum: 1 })
  await teams.driver.installation(owners, 'add', { channel, channelName: 'Releases', team: 'Platform' })
  const slackChannel = await slack.addChannel('releases')
  const channels = [
    { platform: 'slack', tenant: slack.teamId, channel: slackChannel },
    { platform: 'teams', tenant: tenantId, channel },
  ]
  await stored(service, 'accounts').updateOne({ _id: account_id }, { $set: { channels } })
  const slackDriver = createSlackDriver({
    url: service.url,
    signingSecret: SIGNING_SECRET,
    teamId: slack.teamId,
  })
  const close = async (): Promise<void> => {
    await teams.close()
    await slack.close()
  }
  return { ...live, slack, slackDriver, slackChannel, teams, owners, others, close }
}

function envOf({ apiUrl, botToken }: SlackEmulator): Record<string, string> {
  return {
    TRUST_PROXY: '1',
    SLACK_API_URL: apiUrl,
    SLACK_BOT_TOKEN: botToken,
    SLACK_SIGNING_SECRET: SIGNING_SECRET,
  }
}

/** What names that id in the person's own conversation with the app in Slack. */
export async function inSlack(
  { slack }: Pick<BothChats, 'slack'>,
  name: string,
  id: string,
): Promise<SlackMessage[]> {
  return (await slack.dmOf(slack.user(name))).filter((message) => JSON.stringify(message).includes(id))
}

/** What names that id in the person's conversation, or the channel, in Teams. */
export function inTeams({ teams }: Pick<BothChats, 'teams'>, place: string, id: string): TeamsMessageState[] {
  return teams.connector.in(place).filter(({ shown }) => JSON.stringify(shown).includes(id))
}

/** The card that a message in Teams shows now. */
export function cardIn(message: TeamsMessageState | undefined): SentActivity {
  return message?.shown.at(-1)?.attachments?.[0]?.content
}

/** Waits until this many cards of it rest, up to date. */
export async function untilCardsRest({ service }: LiveSetting, id: string, count: number): Promise<void> {
  const { cards } = service.composition.deps
  await waitUntil(async () => {
    const found = await cards.ofRequest(id)
    expect(found.map(({ state, shown, wanted }) => [state, shown >= wanted])).toEqual(
      Array(count).fill(['idle', true]),
    )
  })
}
