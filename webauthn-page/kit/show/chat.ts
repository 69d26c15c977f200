import type { ChatLink, Platform, User } from '../api/contract.ts'
import { type Child, el } from '../dom/element.ts'
import { callerName, callerText, textWarnings } from './caller-text.ts'

/**
 * A name that a platform reports. A user may choose the name "Ana? Press Confirm", so a name gets a frame of its own and
 * cannot pass for a part of our sentence (T44).
 */
export function chatName(name: string): HTMLElement {
  return el('span', { class: 'chat-name' }, name === '' ? el('em', {}, 'no name') : callerText(name))
}

/** "[Ana] in the Slack workspace [Example]". */
export function whoInChat({ platform, person, workspace }: ChatLink): Child[] {
  return [chatName(person), ` in the ${wordsOf(platform).workspace} `, chatName(workspace)]
}

/** "the channel [#deploys] of the Slack workspace [Example]", "the [private channel C0…] of …". */
export function channelOf({ platform, channel = '', workspace }: ChatLink): Child[] {
  return [
    platform === 'slack' && UNNAMED.test(channel) ? 'the ' : 'the channel ',
    chatName(channelName(platform, channel)),
    ` of the ${wordsOf(platform).workspace} `,
    chatName(workspace),
  ]
}

/** What stands in for the name of a private channel. Names of channels in Slack hold no blanks. */
const UNNAMED = /\s/

/** Adds Slack's `#` to a channel's name, but not to an id, in capitals, or other words that stand in for an unknown name. */
export function channelName(platform: ChatLink['platform'], name: string): string {
  const plain = platform !== 'slack' || UNNAMED.test(name) || /^(#|$|[A-Z][A-Z0-9]+$)/.test(name)
  return plain ? name : `#${name}`
}

/** Name and e-mail address of the signed-in person, as the service knows them. */
export function whoIsHere({ name, email }: User): Child[] {
  return [callerName(name), ', ', callerName(email)]
}

/** Returns our warnings about names that a platform reports, each once: hidden characters, look-alike letters. */
export function nameWarnings(...names: string[]): HTMLElement[] {
  const said = new Set<string | null>()
  return names
    .flatMap(textWarnings)
    .filter(({ textContent }) => !said.has(textContent) && said.add(textContent))
}

/** Returns the warnings about all names of a link. */
export function linkWarnings({ person, workspace, channel = '' }: ChatLink): HTMLElement[] {
  return nameWarnings(person, workspace, channel)
}

interface PlatformWords {
  /** The platform's name. */
  name: string
  /** The platform's word for a workspace. */
  workspace: string
  /** What a person types to give the app a command. */
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

/** Returns the words people use for a platform and its parts. */
export function wordsOf(platform: Platform): PlatformWords {
  return WORDS[platform]
}

/** "`/countersign link` in Slack": the command that the person typed to get this kind of link. */
export function typed({ platform, kind }: Pick<ChatLink, 'platform' | 'kind'>): Child[] {
  const { command, where } = wordsOf(platform)
  return [el('code', {}, command(kind)), ` ${where}`]
}

/** Like `typed`, for every platform the link may come from. */
export function typedAnywhere(
  kind: ChatLink['kind'],
  platforms: readonly Platform[] = ['slack', 'teams'],
): Child[] {
  return platforms.flatMap((platform, index) => [index > 0 && ', or ', ...typed({ platform, kind })])
}
