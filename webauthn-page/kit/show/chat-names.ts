import type { ChatLink, User } from '../api/contract.ts'
import { type Child, el } from '../dom/element.ts'
import { callerText, textWarnings } from './caller-text.ts'
import { wordsOf } from './chat-words.ts'

/**
 * A name that a platform tells. Anybody may call themselves "Ana? Press Confirm": it stands in a frame of its own, so that
 * it cannot pass for a part of our sentence (T44).
 */
export function chatName(name: string): HTMLElement {
  return el('span', { class: 'chat-name' }, name === '' ? el('em', {}, 'no name') : callerText(name))
}

/** "[Ana] in the Slack workspace [Example]". */
export function whoInChat({ platform, person, workspace }: ChatLink): Child[] {
  return [chatName(person), ` in the ${wordsOf(platform).workspace} `, chatName(workspace)]
}

/** "[#deploys] of the Slack workspace [Example]". */
export function channelOf({ platform, channel = '', workspace }: ChatLink): Child[] {
  return [
    chatName(channelName(platform, channel)),
    ` of the ${wordsOf(platform).workspace} `,
    chatName(workspace),
  ]
}

/** Slack's people know their channels by the `#`; an id, in capitals, stands in for a name that is not known. */
export function channelName(platform: ChatLink['platform'], name: string): string {
  return platform !== 'slack' || /^(#|$|[A-Z][A-Z0-9]+$)/.test(name) ? name : `#${name}`
}

/** The person at this browser, as the service knows them. */
export function whoIsHere({ name, email }: User): Child[] {
  return [el('strong', {}, callerText(name)), ', ', el('strong', {}, callerText(email))]
}

/** Our warnings about names that a platform tells, each once: hidden characters, look-alike letters. */
export function nameWarnings(...names: string[]): HTMLElement[] {
  const said = new Set<string | null>()
  return names
    .flatMap(textWarnings)
    .filter(({ textContent }) => !said.has(textContent) && said.add(textContent))
}

/** The same for all names of a link. */
export function linkWarnings({ person, workspace, channel = '' }: ChatLink): HTMLElement[] {
  return nameWarnings(person, workspace, channel)
}
