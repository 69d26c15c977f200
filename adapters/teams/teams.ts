import type { TeamsSettings } from '../../src/config/teams.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { ChatPort } from '../../src/flow/ports.ts'
import type { Mount } from '../../src/http/http-deps.ts'
import type { ChatConversationStore } from '../../src/store/chat-conversations.ts'
import type { BotCalls, TeamsBot } from './bot-port.ts'
import { createConversations } from './conversations.ts'
import { paceCalls } from './paced-calls.ts'
import { createTeamsPort } from './port.ts'
import { createTeamsReceiver } from './receiver.ts'

export interface TeamsParts {
  conversations: ChatConversationStore
  clock: FlowDeps['clock']
  log: FlowDeps['log']
  baseUrl: string
}

/** Teams: a port that sends, and a receiver that answers. Neither calls Microsoft before it is used. */
export function createTeams(
  settings: TeamsSettings,
  parts: TeamsParts,
): {
  port: ChatPort
  receive(deps: FlowDeps): { mount?: Mount; start(): Promise<void>; stop(): Promise<void> }
} {
  const { bot, load } = lazyBot(settings, parts)
  const conversations = createConversations(settings, parts.conversations, parts.clock)
  return {
    port: createTeamsPort(settings, bot, conversations, parts.log),
    receive: (deps) => ({ ...createTeamsReceiver(settings, bot, conversations, deps), start: load }),
  }
}

/** The library takes the better part of a second to load, which commands are spared. */
function lazyBot(settings: TeamsSettings, parts: TeamsParts): { bot: TeamsBot; load(): Promise<void> } {
  let loading: Promise<TeamsBot> | undefined
  const loaded = (): Promise<TeamsBot> => {
    loading ??= import('./bot.ts').then(({ createBot }) => createBot(settings, parts))
    return loading
  }
  const calls: BotCalls = {
    post: async (to, message) => (await loaded()).post(to, message),
    update: async (place, messageId, message) => (await loaded()).update(place, messageId, message),
    resolveUser: async (place, user) => (await loaded()).resolveUser(place, user),
  }
  return {
    bot: { ...paceCalls(calls, parts.log), receive: async (...given) => (await loaded()).receive(...given) },
    // Loaded before the first button is pressed: Teams waits for the answer for seconds at most.
    load: async () => void (await loaded()),
  }
}
