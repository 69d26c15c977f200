import { expect } from 'vitest'
import type { Card } from '../../../src/domain/chat.ts'
import { stored } from '../../support/caller.ts'
import { waitUntil } from '../../support/chat-platform.ts'
import { setPolicy } from '../../support/deciders.ts'
import { type LiveSetting, setUpOwner } from '../../support/live.ts'
import { patienceFor } from '../../support/patience.ts'
import { addPerson } from '../../support/people.ts'
import { type ServiceOptions, startService } from '../../support/service.ts'
import {
  type SlackEmulator,
  type SlackMessage,
  type SlackOptions,
  startSlack,
} from '../../support/slack-emulator.ts'

/** A service that sends to a Slack workspace. The owner decides with a passkey; whom else it asks only looks on. */
export interface SendSetting extends LiveSetting {
  slack: SlackEmulator
  /** Approvers by name, the owner included. */
  people: Map<string, string>
  close(): Promise<void>
}

export interface SendOptions {
  /** Approvers in the workspace besides `owner`. */
  others?: readonly string[]
  /** Approvers whom the workspace does not know. */
  strangers?: readonly string[]
  slack?: SlackOptions
  service?: ServiceOptions
}

export function emailOf(name: string): string {
  return `${name}@example.com`
}

/** What a service needs to send there. */
export function slackEnv({
  apiUrl,
  botToken,
}: Pick<SlackEmulator, 'apiUrl' | 'botToken'>): Record<string, string> {
  return { SLACK_API_URL: apiUrl, SLACK_BOT_TOKEN: botToken, SLACK_SIGNING_SECRET: 'b'.repeat(32) }
}

export async function startSending(options: SendOptions = {}): Promise<SendSetting> {
  const { others = [], strangers = [] } = options
  const members = ['owner', ...others].map((name) => ({ name, email: emailOf(name) }))
  const slack = await startSlack({ users: members, ...options.slack })
  const service = await startService({
    work: true,
    ...options.service,
    env: { ...slackEnv(slack), ...options.service?.env },
  }).catch(async (error: unknown) => {
    await slack.close()
    throw error
  })
  const owner = await setUpOwner(service, emailOf('owner'))
  const people = new Map([['owner', owner.owner.userId]])
  for (const name of [...others, ...strangers]) {
    people.set(name, (await addPerson(service, emailOf(name))).id)
  }
  await setPolicy(service, await accountOf(owner), { approvers: [...people.values()], quorum: 1 })
  const close = async (): Promise<void> => {
    await service.close()
    await slack.close()
  }
  return { ...owner, slack, people, close }
}

async function accountOf({ service, owner }: LiveSetting): Promise<string> {
  const user = await service.composition.deps.users.find(owner.userId)
  return user?.account_id ?? expect.unreachable()
}

/** Has the channel told of every request of the owner's account. */
export async function tellChannel(setting: SendSetting, channel: string): Promise<void> {
  const channels = [{ platform: 'slack', tenant: setting.slack.teamId, channel }]
  await stored(setting.service, 'accounts').updateOne(
    { _id: await accountOf(setting) },
    { $set: { channels } },
  )
}

/**
 * Waits until all that the request left has reached its cards, and these rest; returns them.
 * @param ms what it takes on an idle machine: a call that hangs ends after 5 s, the first two retries come after 1 s and 5 s
 */
export async function atRest(
  { service }: LiveSetting,
  id: string,
  cards: number,
  ms = 11_000,
): Promise<Card[]> {
  let found: Card[] = []
  const { requests } = service.composition.deps
  await waitUntil(async () => {
    expect(await requests.find(id)).toMatchObject({ outbox: [], audit: [] })
    found = await service.composition.deps.cards.ofRequest(id)
    const resting = found.filter(({ state }) => state === 'idle' || state === 'unreachable')
    expect(resting).toHaveLength(cards)
    const idle = found.filter(({ state }) => state === 'idle')
    expect(idle.flatMap(({ replies }) => replies.filter(({ state }) => state === 'due'))).toEqual([])
  }, patienceFor(ms))
  return found
}

/** Messages that name the request. */
export function about(messages: readonly SlackMessage[], id: string): SlackMessage[] {
  return messages.filter((message) => JSON.stringify(message).includes(id))
}

/** The one direct message to that person about the request. */
export async function cardTo({ slack }: SendSetting, name: string, id: string): Promise<SlackMessage> {
  const found = about(await slack.dmOf(slack.user(name)), id)
  expect(found).toHaveLength(1)
  return found[0] ?? expect.unreachable()
}
