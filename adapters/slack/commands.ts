import { z } from 'zod'
import { answerCommand } from '../../src/flow/chat/answer-command.ts'
import type { ChatSpeaker } from '../../src/flow/chat/chat-answer.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import { renderAnswer } from './answer-blocks.ts'
import { unescapeText } from './escape.ts'
import { readIncoming } from './incoming.ts'
import type { SlackApp } from './slack-app.ts'

/** What was typed, for each of our slash commands. */
const TYPED: Record<string, (text: string) => string> = {
  '/verify': (text) => `verify ${text}`,
  '/countersign': (text) => text,
}

const commandSchema = z.object({
  text: z.string().catch(''),
  user_name: z.string().catch(''),
  team_domain: z.string().catch(''),
  channel_name: z.string().catch(''),
})

/** `/verify …` and `/countersign …`: the answer is the acknowledgement, seen by the speaker alone unless they share it. */
export function listenForCommands(app: SlackApp, deps: FlowDeps): void {
  for (const [command, typed] of Object.entries(TYPED)) {
    app.command(command, async ({ body, ack }) => {
      const { text } = commandSchema.parse(body)
      const speaker = speakerOf(body)
      const answer = await answerCommand(deps, speaker, typed(unescapeText(text)).trim())
      const share = answer.kind === 'verdict' && answer.share
      const sharedBy = share ? speaker.identity.user : undefined
      await ack({
        response_type: share ? 'in_channel' : 'ephemeral',
        unfurl_links: false,
        unfurl_media: false,
        ...renderAnswer(answer, { now: deps.clock.now(), sharedBy }),
      })
    })
  }
}

/** Slack names them; only a link made by the signed-in person says who that is here (T37). */
function speakerOf(body: unknown): ChatSpeaker {
  const { tenant = '', user = '', channel } = readIncoming(body)
  const { user_name, team_domain, channel_name } = commandSchema.parse(body)
  const shown = { person: user_name || user, workspace: team_domain || tenant }
  const identity = { platform: 'slack', tenant, user } as const
  // A direct message, of whomever: nobody else could be told there.
  if (channel === undefined || channel.startsWith('D')) return { identity, shown_as: shown }
  return {
    identity,
    shown_as: { ...shown, channel: shownChannel(channel_name) || channel },
    channel: { platform: 'slack', tenant, channel },
  }
}

/** Slack does not say what a private channel is called. */
function shownChannel(name: string): string {
  return name === 'privategroup' ? 'a private channel' : name
}
