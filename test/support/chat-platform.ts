import { setTimeout as pause } from 'node:timers/promises'
import {
  type BatchView,
  type CardView,
  type ConsentView,
  isKind,
  type NoticeView,
  type ReplyView,
} from '../../src/domain/card-view.ts'
import type { ChatIdentity, MessageRef } from '../../src/domain/chat.ts'
import type { ChatAddress, ChatOutcome, ChatPort } from '../../src/ports/ports.ts'
import { PATIENCE_MS } from './patience.ts'

/** A message as people on the platform see it, with everything it ever showed. */
export interface PlatformMessage {
  ref: MessageRef
  /** The person's or the channel's id. */
  to: string
  shown: CardView[]
  /** The same for the card of a batch. */
  batches: BatchView[]
  /** The same for a card of an agent that asks for a key. */
  consents: ConsentView[]
  /** Nothing of the card is shown there any more. */
  moved: boolean
  replies: ReplyView[]
  /** Id of the card that it was posted for. */
  card?: string | undefined
}

export interface PlatformCall {
  what: 'lookup' | 'post' | 'update' | 'reply' | 'notice'
  /** Whom it is for; of a lookup the address. */
  to: string
  /** Of all calls of that kind for this recipient, from 1. */
  nth: number
  request?: string
}

type Failure = {
  outcome: 'unreachable' | 'unavailable' | 'rate_limited' | 'timeout' | 'failed'
  retry_after?: number
  code?: string
  perhaps?: true
  gone?: true
  passing?: true
}

/** How the platform takes a call; nothing: it accepts. `lost`: it accepts, and the answer never arrives. */
type Behaviour = Failure | 'lost' | undefined

/** A small chat platform in memory: it keeps what it accepted, whatever its callers believe. */
export interface ChatPlatform extends ChatPort {
  messages: PlatformMessage[]
  /** Messages about changes of somebody's factors: no cards, and never edited. */
  notices: { to: string; view: NoticeView }[]
  /** Channels that got a first message. */
  greeted: string[]
  /** All but those that post notices. */
  calls: PlatformCall[]
  /** Members by e-mail address. */
  members: Map<string, ChatIdentity>
  tenants: string[]
  behave(how: (call: PlatformCall) => Behaviour | Promise<Behaviour>): void
  /** Messages to that recipient. */
  of(to: string): PlatformMessage[]
  /** The one message to that recipient about the request. */
  one(to: string, request: string): PlatformMessage
  /** Calls under way at once, at most, to one recipient and altogether. */
  most: { perRecipient: number; total: number }
}

/** Lets the app look for its own messages. */
export function letLook(chat: ChatPlatform): void {
  chat.find = async (to, card) => {
    const found = chat.of(recipientOf(to)).find((message) => message.card === card)
    return { ok: true, value: found?.ref ?? 'none', duration_ms: 1 }
  }
}

export function createChatPlatform(platform: 'slack' | 'teams' = 'slack'): ChatPlatform {
  const counts = new Map<string, number>()
  const open = new Map<string, number>()
  let how: Parameters<ChatPlatform['behave']>[0] = () => undefined
  let made = 0
  let total = 0
  const toOf = (message: MessageRef) => find(message).to
  const find = (ref: MessageRef): PlatformMessage => {
    const found = it.messages.find(({ ref: known }) => known.message === ref.message)
    if (found === undefined) throw new Error('no such message')
    return found
  }
  async function take<T>(call: Omit<PlatformCall, 'nth'>, accept: () => T): Promise<ChatOutcome<T>> {
    const key = `${call.what} ${call.to}`
    const nth = (counts.get(key) ?? 0) + 1
    counts.set(key, nth)
    if (call.what !== 'notice') it.calls.push({ ...call, nth })
    const here = (open.get(call.to) ?? 0) + 1
    open.set(call.to, here)
    total += 1
    it.most = { perRecipient: Math.max(it.most.perRecipient, here), total: Math.max(it.most.total, total) }
    try {
      const behaviour = await how({ ...call, nth })
      if (behaviour === undefined) return { ok: true, value: accept(), duration_ms: 1 }
      if (behaviour !== 'lost') return { ok: false, ...behaviour, duration_ms: 1 }
      accept()
      return { ok: false, outcome: 'timeout', perhaps: true, duration_ms: 1 }
    } finally {
      open.set(call.to, (open.get(call.to) ?? 1) - 1)
      total -= 1
    }
  }
  const it: ChatPlatform = {
    platform,
    messages: [],
    notices: [],
    greeted: [],
    calls: [],
    members: new Map(),
    tenants: ['T1'],
    most: { perRecipient: 0, total: 0 },
    behave: (next) => {
      how = next
    },
    of: (to) => it.messages.filter((message) => message.to === to),
    one(to, request) {
      const found = it.of(to).filter(({ shown }) => shown[0]?.request_id === request)
      if (found.length !== 1 || found[0] === undefined) throw new Error(`${found.length} messages to ${to}`)
      return found[0]
    },
    tenantsOf: async () => it.tenants,
    lookup: (tenant, email) =>
      take({ what: 'lookup', to: email }, () => {
        const member = it.members.get(email)
        return member?.tenant === tenant ? member : undefined
      }),
    post: (address, view, card) => {
      const to = recipientOf(address)
      const request = view.request_id
      if (isKind(view, 'greeting'))
        return take({ what: 'notice', to, request }, () => {
          made += 1
          it.greeted.push(to)
          return { tenant: address.tenant, conversation: `D-${to}`, message: `m${made}` }
        })
      if (isKind(view, 'notice'))
        return take({ what: 'notice', to, request }, () => {
          made += 1
          it.notices.push({ to, view })
          return { tenant: address.tenant, conversation: `D-${to}`, message: `m${made}` }
        })
      return take({ what: 'post', to, request }, () => {
        made += 1
        const ref = { tenant: address.tenant, conversation: `D-${to}`, message: `m${made}` }
        const message: PlatformMessage = {
          ref,
          to,
          shown: [],
          batches: [],
          consents: [],
          moved: false,
          replies: [],
          card: card?.id,
        }
        it.messages.push(message)
        show(message, view)
        return ref
      })
    },
    update: (ref, view) =>
      isKind(view, 'moved')
        ? take({ what: 'update', to: toOf(ref) }, () => {
            find(ref).moved = true
          })
        : take({ what: 'update', to: toOf(ref), request: view.request_id }, () => {
            find(ref).moved = false
            show(find(ref), view)
          }),
    reply: (ref, view) =>
      take(
        { what: 'reply', to: toOf(ref), request: view.request_id },
        () => void find(ref).replies.push(view),
      ),
  }
  return it
}

function show(message: PlatformMessage, view: CardView | BatchView | ConsentView): void {
  if (isKind(view, 'batch')) message.batches.push(view)
  else if (isKind(view, 'consent')) message.consents.push(view)
  else message.shown.push(view)
}

function recipientOf(address: ChatAddress): string {
  return 'user' in address ? address.user : address.channel
}

/** What a message shows now. */
export function nowShown(message: PlatformMessage | undefined): CardView | undefined {
  return message?.shown.at(-1)
}

/** Looks often at first, for what takes no time, and then less and less: each look is a question to the store. */
const LOOKS = { first: 10, last: 160 }

/** Waits for a condition. @throws what the last look threw */
export async function waitUntil(check: () => void | Promise<void>, timeout = PATIENCE_MS): Promise<void> {
  const until = performance.now() + timeout
  for (let rest = LOOKS.first; ; rest = Math.min(1.5 * rest, LOOKS.last)) {
    try {
      return await check()
    } catch (error) {
      if (performance.now() > until) throw error
    }
    await pause(rest)
  }
}
