import type { ChatAnswer } from './chat-answer.ts'

type Answer<Kind extends ChatAnswer['kind']> = ChatAnswer & { kind: Kind }

/** What a one-time link is for, in our words. */
export interface LinkWords {
  heading: string
  does: string
  button: string
  advice: string
}

/** The words around a one-time link; `platform` is its name for people. */
export function linkWords({ purpose }: Answer<'link'>, platform: string): LinkWords {
  const known = LINKS[purpose]
  return purpose === 'link' ? { ...known, heading: `Link your ${platform} identity` } : known
}

const LINKS: Record<Answer<'link'>['purpose'], LinkWords> = {
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

const MINUTE_MS = 60_000

/** How long a one-time link still works, in whole minutes; clocks differ, so never less than one. */
export function linkTimeLeft({ expires_at }: Answer<'link'>, now: Date): string {
  const minutes = Math.max(1, Math.round((expires_at.getTime() - now.getTime()) / MINUTE_MS))
  return minutes === 1 ? 'one minute' : `${minutes} minutes`
}

/** The first line of the answer to `pending`. */
export function pendingHeading(answer: Answer<'pending'>): string {
  const total = answer.rows.length + answer.more
  if (total === 0) return waitingAgents(answer) ?? 'Nothing waits for your decision'
  return total === 1 ? 'One request waits for you' : `${total} requests wait for you`
}

/** How many agents wait for a key, without a full stop. @returns undefined when none does */
export function waitingAgents({ agents = 0 }: Answer<'pending'>): string | undefined {
  if (agents === 0) return undefined
  return agents === 1
    ? 'One agent waits for a key of your account'
    : `${agents} agents wait for a key of your account`
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
