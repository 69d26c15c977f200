import type { ChatAnswer } from '../../src/flow/chat/chat-answer.ts'

export type Notice = ChatAnswer & { kind: 'notice' }

const problem = (heading: string, sentence: string): Notice => ({
  kind: 'notice',
  tone: 'problem',
  heading,
  sentence,
})

/** What the receiver itself has to say, when no verb answered. All of it is ours. */
export const NOTICES = {
  unknownCommand: problem(
    'Countersign does not know this command',
    'Nothing was done. Type /countersign help to see what there is.',
  ),
  unknownAction: problem(
    'Countersign does not know this button',
    'Nothing was done. It may belong to an older message; the approval page shows what is true now.',
  ),
  unknownForm: problem(
    'Countersign does not know this form or shortcut',
    'Nothing was done. Type /countersign help to see what there is.',
  ),
  notKnownYet: problem(
    'Countersign cannot reach Slack',
    'It has not learned yet which workspace it belongs to, so nothing was done. Try again in a moment.',
  ),
  slow: problem(
    'This takes longer than usual',
    'Countersign has no answer yet. It may still finish what you asked for; try again in a moment.',
  ),
} as const

/** A workspace whose installation is not (or no longer) ours: nothing is read or changed for it. */
export function notConnected(baseUrl: string): Notice {
  return problem(
    'This workspace is not connected',
    `This workspace is not connected to Countersign at ${baseUrl}. Ask whoever runs it there to install the app again.`,
  )
}

/** Something broke; what it was is in the log under this id. */
export function wentWrong(requestId: string): Notice {
  return problem(
    'Something went wrong on our side',
    `Your request could not be answered; try again in a moment. When you report it, quote ${requestId}.`,
  )
}
