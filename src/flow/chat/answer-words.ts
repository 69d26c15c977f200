import { durationWords } from '../../domain/card-words.ts'
import type { ChatAnswer } from './chat-answer.ts'

type Answer<Kind extends ChatAnswer['kind']> = ChatAnswer & { kind: Kind }

/** What a one-time link is for, in our words, on every platform. */
export const LINK_WORDS: Record<
  Answer<'link'>['purpose'],
  { heading: string; does: string; button: string; advice: string }
> = {
  link: {
    heading: 'Link your identity',
    does: 'Open this link in a browser, sign in and confirm: then requests reach you here under your own name.',
    button: 'Link my identity…',
    advice: 'For you alone. Never share this link: whoever confirms it would pass for you here.',
  },
  browser: {
    heading: 'Make a browser known',
    does: 'Open this link in the browser that should be known. Signing in there still takes your e-mail and a code.',
    button: 'Make this browser known…',
    advice: 'For you alone. Never share this link: it would make a stranger’s browser known as yours.',
  },
  channel: {
    heading: 'Have this channel told of requests',
    does: 'Open this link in a browser and sign in as the owner of the account. The channel then sees action, requester and outcome of every request, never the context.',
    button: 'Connect this channel…',
    advice: 'For you alone. Never share this link.',
  },
}

const LEAST_LEFT_MS = 60_000

/** How long a one-time link still works; clocks differ, so never less than a minute. */
export function linkTimeLeft({ expires_at }: Answer<'link'>, now: Date): string {
  return durationWords(Math.max(LEAST_LEFT_MS, expires_at.getTime() - now.getTime()))
}

/** The first line of the answer to `pending`. */
export function pendingHeading({ rows, more }: Answer<'pending'>): string {
  const total = rows.length + more
  if (total === 0) return 'Nothing waits for your decision'
  return total === 1 ? 'One request waits for you' : `${total} requests wait for you`
}

/** Signs beside the words of a notice, never instead of them. */
export const NOTICE_SIGNS: Record<Answer<'notice'>['tone'], string> = {
  done: '✅',
  refused: '⛔',
  problem: '⚠️',
}

/** The first line of the list of commands. */
export function helpHeading({ unknown }: Answer<'help'>, platform: string): string {
  return unknown ? 'Countersign does not know this command' : `Countersign in ${platform}`
}
