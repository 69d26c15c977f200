import type { ChatLink, Platform } from '../api/contract.ts'
import { type Child, el } from '../dom/element.ts'

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

/** "`/countersign link` in Slack": what somebody typed to get this kind of link. */
export function typed({ platform, kind }: Pick<ChatLink, 'platform' | 'kind'>): Child[] {
  const { command, where } = wordsOf(platform)
  return [el('code', {}, command(kind)), ` ${where}`]
}

/** The same for somebody who is in a chat that this page does not know. */
export function typedAnywhere(word: ChatLink['kind']): Child[] {
  return [
    el('code', {}, wordsOf('slack').command(word)),
    ' in Slack, or ',
    el('code', {}, wordsOf('teams').command(word)),
    ' to the Countersign app in Microsoft Teams',
  ]
}
