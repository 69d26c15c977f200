import { z } from 'zod'
import type { Card } from '../../src/domain/chat.ts'
import { findSubject } from '../../src/flow/chat/show-card.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import { readIncoming } from './incoming.ts'

const element = z.object({ action_id: z.string().optional(), url: z.string().optional() })

const clickSchema = z.object({
  channel: z.object({ id: z.string() }),
  message: z.object({
    ts: z.string(),
    blocks: z
      .array(z.object({ elements: z.array(element).optional().catch(undefined) }))
      .optional()
      .catch(undefined),
  }),
  actions: z.array(element).min(1),
})

type HealDeps = Pick<FlowDeps, 'cards' | 'requests' | 'bootstraps' | 'clock' | 'log'>

/** The last of a card's link: `<BASE_URL>/a/<request id>?d=approve`, and `/b/<bst id>` for an agent that asks for a key. */
const CARD_LINK = /\/(?:a\/(?=req_)|b\/(?=bst_))([a-z]{3}_[0-9a-z]{1,40})(?:\?|$)/

/**
 * Somebody pressed a button of ours that a card of a decided request does not have: the message shows an older state than
 * we believe, or editing it was given up. Has it edited again; changes nothing else (T46). Only the message that is the card
 * counts, so nobody but those it was posted to can have it edited: for an agent that asks for a key, the owner alone.
 */
export async function healCard(deps: HealDeps, body: unknown): Promise<void> {
  const { cards, clock, log } = deps
  const click = clickSchema.safeParse(body).data
  const requestId = click === undefined ? undefined : requestOf(click)
  if (click === undefined || requestId === undefined) return
  const request = await findSubject(deps, { request_id: requestId })
  if (request === undefined || request.status === 'pending') return
  const { tenant } = readIncoming(body)
  const card = (await cards.ofRequest(requestId)).find(
    ({ platform, message }) =>
      platform === 'slack' &&
      message?.tenant === tenant &&
      message?.conversation === click.channel.id &&
      message?.message === click.message.ts,
  )
  if (card === undefined || isComing(card)) return
  await cards.doubt(card.id, clock.now())
  log.info({ card: card.id, request: requestId }, 'a card on slack was out of date and is edited again')
}

/** The newest state is on its way by itself. A card that was given up is not: nobody would ever edit it again. */
function isComing({ shown, wanted, state }: Card): boolean {
  return shown < wanted && (state === 'due' || state === 'leased')
}

/** Slack reports the link with the click, or at least the message with the button in it. */
function requestOf({ actions, message }: z.output<typeof clickSchema>): string | undefined {
  const [pressed] = actions
  const drawn = (message.blocks ?? []).flatMap(({ elements = [] }) => elements)
  const url = pressed?.url ?? drawn.find(({ action_id }) => action_id === pressed?.action_id)?.url
  return url === undefined ? undefined : CARD_LINK.exec(url)?.[1]
}
