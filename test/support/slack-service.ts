import type { ServiceOptions, TestService } from './service.ts'
import { useService } from './service.ts'
import { createSlackDriver, type SlackDriver } from './slack-driver.ts'
import type { SlackEmulator } from './slack-emulator.ts'

export const SIGNING_SECRET = '8f742231b10e8888abcd99yyyzzz85a5'

/** A whole service that is connected to a Slack, and Slack's side of its events address. */
export interface SlackService {
  service: TestService
  driver: SlackDriver
  /** What the service logged with that message, newest last. */
  logged(message: string): Record<string, unknown>[]
}

/** Starts one for the workspace of the emulator; it ends with the test. `env` may make another kind of it. */
export async function useSlackService(
  slack: Pick<SlackEmulator, 'apiUrl' | 'botToken' | 'teamId'>,
  options: ServiceOptions = {},
): Promise<SlackService> {
  const service = await useService({
    ...options,
    env: {
      SLACK_BOT_TOKEN: slack.botToken,
      SLACK_SIGNING_SECRET: SIGNING_SECRET,
      SLACK_API_URL: slack.apiUrl,
      ...options.env,
    },
  })
  return {
    service,
    driver: createSlackDriver({ url: service.url, signingSecret: SIGNING_SECRET, teamId: slack.teamId }),
    logged: (message) =>
      service.logged.filter((line) => line.message === message).map(({ fields }) => fields),
  }
}
