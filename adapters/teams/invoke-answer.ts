import type { ClickAnswer } from './bot-port.ts'

/** What goes back to Teams. */
export interface BotAnswer {
  status: number
  body?: unknown
}

const CARD = 'application/vnd.microsoft.card.adaptive'
const MESSAGE = 'application/vnd.microsoft.activity.message'

/** The answer to `adaptiveCard/action` (Teams "Universal Actions for Adaptive Cards", response format). */
export function answerClick(answer: ClickAnswer): BotAnswer {
  const body =
    'card' in answer
      ? { statusCode: 200, type: CARD, value: answer.card }
      : { statusCode: 200, type: MESSAGE, value: answer.words }
  return { status: 200, body }
}
