import { type ChatIdentity, identityKey } from '../../domain/chat.ts'
import type { FlowDeps } from '../deps.ts'
import type { ChatAnswer } from './chat-answer.ts'
import { notices } from './notices.ts'

/** How often one identity may have us look something up, and hand out one-time links. */
const LIMITS = {
  look: { most: 30, seconds: 60 },
  link: { most: 10, seconds: 600 },
} as const

/**
 * Counts what an identity asks for, over all processes.
 * @returns the refusal beyond the limit
 */
export async function limitSpeaker(
  { attempts, clock }: Pick<FlowDeps, 'attempts' | 'clock'>,
  identity: ChatIdentity,
  kind: keyof typeof LIMITS,
): Promise<ChatAnswer | undefined> {
  const { most, seconds } = LIMITS[kind]
  const { count, ends } = await attempts.take(`chat-${kind}:${identityKey(identity)}`, seconds)
  if (count <= most) return undefined
  return notices.tooMany(Math.max(1, Math.ceil((ends.getTime() - clock.now().getTime()) / 60_000)))
}
