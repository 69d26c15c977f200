import type { ChatAnswer } from '../../src/flow/chat/chat-answer.ts'

type Notice = ChatAnswer & { kind: 'notice' }

/** What the receiver itself has to say, when no verb answered. All of it is ours. */
export const NOTICES = {
  sentToYou: {
    kind: 'notice',
    tone: 'done',
    heading: 'Sent to you alone',
    sentence: 'The answer is in your own chat with this app: it is not for everybody here.',
  },
  cannotReachYou: {
    kind: 'notice',
    tone: 'problem',
    heading: 'The answer is for you alone',
    sentence: 'This app cannot write to you. Add it for yourself in Teams, then ask it there.',
  },
  wentWrong: {
    kind: 'notice',
    tone: 'problem',
    heading: 'Something went wrong on our side',
    sentence: 'Countersign could not answer; nothing was decided or approved. Try again in a moment.',
  },
} as const satisfies Record<string, Notice>

/** Answers to a button in a sentence. */
export const PRESS_WORDS = {
  unknown: 'Countersign does not know this button. The approval page shows what is true now.',
  notLinked: 'Countersign does not know you here yet. Write “link” to this app, then try again.',
  notYours: 'There is no such request, or you are not asked about it.',
  notHere: 'Countersign has shown no such request here.',
  slow: 'This takes longer than usual; try again in a moment. The approval page shows what is true now.',
  wentWrong: 'Something went wrong on our side; nothing was decided. Try again in a moment.',
} as const
