import type { Account, AccountChannel } from './account.ts'
import type { Card, ChatChannel } from './chat.ts'

/**
 * The channel or the person to which the outcome of a request goes in chat, fixed when the request is made. `named`: in the
 * caller's words.
 */
export type NotifyTarget =
  | ({ kind: 'channel'; named: string } & ChatChannel)
  | { kind: 'member'; named: string; user_id: string }

/** The same for people: names as the service knows them, never the caller's words. `platform`: of a channel. */
export interface ShownTarget {
  kind: NotifyTarget['kind']
  name: string
  platform?: ChatChannel['platform']
}

/** Finds the account's channels that a caller means: by the platform's id, or by the name they had when they were connected. */
export function channelsNamed({ channels }: Pick<Account, 'channels'>, named: string): AccountChannel[] {
  const byId = channels.filter(({ channel }) => channel === named)
  return byId.length > 0
    ? byId
    : channels.filter(({ name }) => name !== undefined && bare(name) === bare(named))
}

function bare(name: string): string {
  return name.replace(/^#/, '')
}

/** Checks whether the card's recipient is the one to whom the outcome goes. */
export function isTarget(
  target: NotifyTarget | undefined,
  { platform, recipient }: Pick<Card, 'platform' | 'recipient'>,
): boolean {
  if (target?.kind === 'member') return recipient.kind === 'approver' && recipient.user_id === target.user_id
  return (
    recipient.kind === 'channel' &&
    target?.platform === platform &&
    target.tenant === recipient.tenant &&
    target.channel === recipient.channel
  )
}
