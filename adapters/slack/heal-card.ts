import { z } from 'zod'
import { type ChatIdentity, identityKey, type MessageRef } from '../../src/domain/chat.ts'
import { type CardSubject, findSubject, isOver, showSubject } from '../../src/flow/chat/show-card.ts'
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

/** The last of a card's link: `<BASE_URL>/a/<request id>?d=approve`, and `/b/<bst id>` for an agent that asks for a key. */
const CARD_LINK = /\/(?:a\/(?=req_)|b\/(?=bst_))([a-z]{3}_[0-9a-z]{1,40})(?:\?|$)/

/**
 * A person pressed a button of ours that a card of a decided request does not have: the message shows an older state than
 * we believe, or waits for its next try. Has it edited now; changes nothing else (T46). A message that is no card we know of
 * was posted when the answer to the post was lost: it is ours all the same, since Slack reports no others' buttons.
 */
export async function healCard(deps: FlowDeps, body: unknown): Promise<void> {
  const { cards, clock, log } = deps
  const click = clickSchema.safeParse(body).data
  const requestId = click === undefined ? undefined : requestOf(click)
  const { tenant, user = '' } = readIncoming(body)
  if (click === undefined || requestId === undefined || tenant === undefined) return
  const identity = { platform: 'slack', tenant, user } as const
  const request = await findSubject(deps, { request_id: requestId })
  if (request === undefined) return
  const over = isOver(request, clock.now())
  const pressed = { tenant, conversation: click.channel.id, message: click.message.ts }
  const here = (await cards.ofRequest(requestId)).filter(
    ({ platform, message }) =>
      platform === 'slack' && message?.tenant === tenant && message.conversation === pressed.conversation,
  )
  const card = here.find(({ message }) => message?.message === pressed.message)
  // Where its card stands it was read already, by an owner found by e-mail alone, too.
  if (card === undefined && here.length === 0 && !(await mayHeal(deps, request, identity))) return
  if (card === undefined)
    return healStray(deps, request, pressed, over ? 'over' : here.length > 0 ? 'twice' : 'alone')
  if (!over || card.state === 'leased') return
  await cards.doubt(card.id, clock.now())
  log.info({ card: card.id, request: requestId }, 'a card on slack was out of date and is edited again')
}

/** What an agent that asks for a key shows is for the owner of the account alone. */
async function mayHeal({ users }: FlowDeps, subject: CardSubject, identity: ChatIdentity): Promise<boolean> {
  if (!('client_name' in subject)) return true
  const person = await users.findByIdentity(identityKey(identity))
  return person !== undefined && person.account_id === subject.account_id
}

/** Who reads it is not known, so it says no more than a channel's card does. */
async function healStray(
  deps: FlowDeps,
  request: CardSubject,
  pressed: MessageRef,
  stands: 'over' | 'twice' | 'alone',
): Promise<void> {
  const port = deps.chats.find(({ platform }) => platform === 'slack')
  if (port === undefined || stands === 'alone') return
  const { tenant, conversation } = pressed
  const reader = { recipient: { kind: 'channel', tenant, channel: conversation } } as const
  const view =
    stands === 'over'
      ? (await showSubject(deps, reader, request)).view
      : ({ kind: 'moved', twice: true } as const)
  const { ok } = await port.update(pressed, view)
  deps.log.info({ request: request.id, ok }, 'a card on slack that was posted twice was pressed')
}

/** Slack reports the link with the click, or at least the message with the button in it. */
function requestOf({ actions, message }: z.output<typeof clickSchema>): string | undefined {
  const [pressed] = actions
  const drawn = (message.blocks ?? []).flatMap(({ elements = [] }) => elements)
  const url = pressed?.url ?? drawn.find(({ action_id }) => action_id === pressed?.action_id)?.url
  return url === undefined ? undefined : CARD_LINK.exec(url)?.[1]
}
