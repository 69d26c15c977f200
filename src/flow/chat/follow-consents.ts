import { type Bootstrap, isWaiting } from '../../domain/bootstrap.ts'
import type { Card } from '../../domain/chat.ts'
import { isId } from '../../domain/identifier.ts'
import type { Trace } from '../delivery-ports.ts'
import type { FlowDeps } from '../deps.ts'
import { newCard, servedBy } from './address-cards.ts'

type FollowDeps = Pick<FlowDeps, 'bootstraps' | 'accounts' | 'cards' | 'chats' | 'clock' | 'random'>

/**
 * The same as `followCards` for bootstraps: a card for the owner of the account on every platform that serves it, never for a
 * channel, and for decoys none. May be repeated and interrupted anywhere.
 * @returns whether there may be something to send
 */
export async function followConsents(
  deps: FollowDeps,
  traces: readonly Pick<Trace, 'id' | 'account_id' | 'audit'>[],
): Promise<boolean> {
  if (deps.chats.length === 0) return false
  const telling = traces.filter(({ id, account_id }) => isId('bst', id) && account_id !== undefined)
  const found = await Promise.all(telling.map(({ id }) => deps.bootstraps.find(id)))
  const about = found.filter((bootstrap) => bootstrap !== undefined)
  if (about.length === 0) return false
  const at = deps.clock.now()
  const asked = about.filter((bootstrap) => isWaiting(bootstrap, at))
  const cards = await Promise.all(asked.map((bootstrap) => cardsOf(deps, bootstrap)))
  await deps.cards.insertNew(cards.flat())
  // Version 1 is what a new card shows by itself.
  const news = about.filter(({ version }) => version > 1)
  await deps.cards.follow(news.map(({ id, version }) => ({ request_id: id, version, replies: [], at })))
  return true
}

async function cardsOf(deps: FollowDeps, bootstrap: Bootstrap): Promise<Card[]> {
  const { id, version, account_id } = bootstrap
  const account = account_id === undefined ? undefined : await deps.accounts.find(account_id)
  if (account === undefined) return []
  const owner = { kind: 'approver', user_id: account.owner_id } as const
  const served = await servedBy(deps, account.id)
  return served.map(({ platform }) => newCard(deps, { id, version, account_id: account.id }, platform, owner))
}
