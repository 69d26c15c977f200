import type { FlowDeps } from '../deps.ts'
import { answerHelp } from './answer-help.ts'
import type { ChatAnswer, ChatSpeaker } from './chat-answer.ts'

/**
 * Answers what somebody says to us in chat. `text` is the command's text as the person meant it: mentions of the app and
 * the platform's own escaping are undone before. Never throws for what was said, only when the store does not answer.
 */
export async function answerCommand(
  deps: FlowDeps,
  speaker: ChatSpeaker,
  _text: string,
): Promise<ChatAnswer> {
  return answerHelp(deps, speaker)
}
