import type { ChatLink, Platform, User } from '../api/contract.ts'
import { type Child, el } from '../dom/element.ts'
import { callerName, callerText, textWarnings } from './caller-text.ts'

/**
 * A name that a platform reports. A user may choose the name "Ana? Press Confirm": it gets a frame of its own, so that
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

/** Slack's people know their channels by the `#`; an id, in capitals, replaces a name that is not known. */
export function channelName(platform: ChatLink['platform'], name: string): string {
  return platform !== 'slack' || /^(#|$|[A-Z][A-Z0-9]+$)/.test(name) ? name : `#${name}`
}

/** The person at this browser, as the service knows them. */
export function whoIsHere({ name, email }: User): Child[] {
  return [callerName(name), ', ', callerName(email)]
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

interface PlatformWords {
  /** Its name. */
  name: string
  /** What a workspace is called there. */
  workspace: string
  /** Who tells the app something, and how. */
  command(word: string): string
  where: string
}

const WORDS: Record<Platform, PlatformWords> = {
  slack: {
    name: 'Slack',
    workspace: 'Slack workspace',
    command: (word) => `/countersign ${word}`,
    where: 'in Slack',
  },
  teams: {
    name: 'Microsoft Teams',
    workspace: 'Microsoft Teams organisation',
    command: (word) => word,
    where: 'to the Countersign app in Microsoft Teams',
  },
}

/** How people call a platform and what is in it. */
export function wordsOf(platform: Platform): PlatformWords {
  return WORDS[platform]
}

/** "`/countersign link` in Slack": what the person typed to get this kind of link. */
export function typed({ platform, kind }: Pick<ChatLink, 'platform' | 'kind'>): Child[] {
  const { command, where } = wordsOf(platform)
  return [el('code', {}, command(kind)), ` ${where}`]
}

/** The same for all platforms that it may be. */
export function typedAnywhere(
  kind: ChatLink['kind'],
  platforms: readonly Platform[] = ['slack', 'teams'],
): Child[] {
  return platforms.flatMap((platform, index) => [index > 0 && ', or ', ...typed({ platform, kind })])
}
