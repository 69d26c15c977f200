import { z } from 'zod'
import { type ChatIdentity, identityKey, type MessageRef } from '../../src/domain/chat.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import { type CardSubject, findSubject, isOver, showSubject } from '../../src/flow/tell/show-card.ts'
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

/**
 * The end of a card's link: `<BASE_URL>/a/<request id>?d=approve`, `/?batch=<bat id>` for several requests, or `/b/<bst id>` for an
 * agent that asks for a key.
 */
const CARD_LINK = /\/(?:a\/(?=req_)|b\/(?=bst_)|\?batch=(?=bat_))([a-z]{3}_[0-9a-z]{1,40})(?:[?&]|$)/

/**
 * Handles a click on a button that the cards of decided requests do not have: the message shows an older state than we
 * recorded, or its edit waits for a retry. Has it edited now and changes nothing else (T46). If we do not know the message,
 * the answer to our post was lost; the message is ours nevertheless, because Slack reports clicks only to a button's own app.
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
  // Needs no check where a known card of the request stands: its reader, even an owner found by e-mail alone, has seen it.
  if (card === undefined && here.length === 0 && !(await mayHeal(deps, request, identity))) return
  if (card === undefined)
    return healStray(deps, request, pressed, over ? 'over' : here.length > 0 ? 'twice' : 'alone')
  if (!over || card.state === 'leased') return
  await cards.doubt(card.id, clock.now())
  log.info({ card: card.id, request: requestId }, 'an outdated card in Slack is edited again')
}

/** Checks the clicking person. The card of an agent that asks for a key is for the owner of the account alone. */
async function mayHeal({ users }: FlowDeps, subject: CardSubject, identity: ChatIdentity): Promise<boolean> {
  if (!('client_name' in subject)) return true
  const person = await users.findByIdentity(identityKey(identity))
  return person !== undefined && person.account_id === subject.account_id
}

/** Edits a message that we do not know as a card. Its readers are unknown, so it says no more than a channel's card. */
async function healStray(
  deps: FlowDeps,
  request: CardSubject,
  pressed: MessageRef,
  stands: 'over' | 'twice' | 'alone',
): Promise<void> {
  const port = deps.chats.find(({ platform }) => platform === 'slack')
  if (port === undefined || stands === 'alone') return
  const { tenant, conversation } = pressed
  const recipient = { kind: 'channel', tenant, channel: conversation } as const
  const reader = { platform: 'slack', recipient } as const
  const view =
    stands === 'over'
      ? (await showSubject(deps, reader, request)).view
      : ({ kind: 'moved', twice: true } as const)
  const { ok } = await port.update(pressed, view)
  deps.log.info({ request: request.id, ok }, 'a duplicate card in Slack was pressed')
}

/** Finds the request of a click. Slack reports the link with the click, or at least the message that holds the button. */
function requestOf({ actions, message }: z.output<typeof clickSchema>): string | undefined {
  const [pressed] = actions
  const drawn = (message.blocks ?? []).flatMap(({ elements = [] }) => elements)
  const url = pressed?.url ?? drawn.find(({ action_id }) => action_id === pressed?.action_id)?.url
  return url === undefined ? undefined : CARD_LINK.exec(url)?.[1]
}
