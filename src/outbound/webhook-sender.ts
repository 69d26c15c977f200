import { createHmac } from 'node:crypto'
import type { WebhookSender } from '../flow/ports.ts'
import { createGuardedPost, type SenderOptions } from './guarded-post.ts'

type Message = Parameters<WebhookSender['send']>[0]

/** The sender of webhooks: signs what it sends, and sends it behind the guard (`guarded-post.ts`). */
export function createWebhookSender(options: SenderOptions): WebhookSender {
  const guarded = createGuardedPost(options)
  return {
    send: (message) => guarded.post({ ...message, headers: headersOf(options, message) }),
    close: guarded.close,
  }
}

function headersOf({ version }: Pick<SenderOptions, 'version'>, message: Message): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(message.body)),
    'User-Agent': `Countersign/${version} (+webhooks)`,
    ...signatureHeaders(message),
  }
}

/** What an attempt signs. */
interface Signable {
  /** The same on every attempt: receivers drop repeats by it (T83). */
  eventId: string
  /** The exact text that is sent. */
  body: string
  /** When this attempt is made: receivers refuse what is older than 300 s. */
  at: Date
  /** As shown to people: 64 hex characters each, whose ASCII bytes are the HMAC key (security §5.3). The first is current. */
  secrets: readonly [string, ...string[]]
}

/**
 * Headers by which a receiver knows that a webhook is ours and fresh: those of the interface ("Delivery headers and signature")
 * and those of Standard Webhooks 1.0.0, which sign the id too and carry one signature for each secret during a rotation.
 */
export function signatureHeaders({ eventId, body, at, secrets }: Signable): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const standard = secrets.map(
    (secret) => `v1,${mac(secret, `${eventId}.${timestamp}.${body}`).toString('base64')}`,
  )
  return {
    'X-Service-Signature': `sha256=${mac(secrets[0], `${timestamp}.${body}`).toString('hex')}`,
    'X-Service-Timestamp': timestamp,
    'webhook-id': eventId,
    'webhook-timestamp': timestamp,
    'webhook-signature': standard.join(' '),
  }
}

function mac(secret: string, text: string): Buffer {
  return createHmac('sha256', Buffer.from(secret, 'ascii')).update(text, 'utf8').digest()
}
