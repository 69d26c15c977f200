import { createHmac } from 'node:crypto'
import type { PushMessage, PushSender, WebhookSender } from '../flow/ports.ts'
import { createGuardedPost, type SenderOptions } from './guarded-post.ts'

interface PushSenderOptions extends SenderOptions {
  /** `mailto:` or `https:` address at which push services reach the operator (RFC 8292 §2.1). */
  subject: string
}

/**
 * Pushes: `web-push` encrypts and signs, our own sender sends. The address comes from a signed-in person's browser, or from
 * a thief of their session, so it is called as webhooks are: public addresses only, no redirects, one attempt a call,
 * bounded in time and size. The library, loaded when it is first needed, never touches the network.
 */
export function createPushSender(options: PushSenderOptions): PushSender {
  const guarded = createGuardedPost(options)
  return {
    async newKeys() {
      const { generateVAPIDKeys } = await loadLibrary()
      const { publicKey, privateKey } = generateVAPIDKeys()
      return { public_key: publicKey, private_key: privateKey }
    },
    async send(message) {
      const request = await draw(options, message).catch(() => undefined)
      if (request === undefined) return { outcome: 'unsigned', duration_ms: 0 }
      return guarded.post({ ...request, at: message.at })
    },
    close: guarded.close,
  }
}

const loadLibrary = async () => (await import('web-push')).default

/** RFC 8291 for the body, RFC 8292 for who sends it, RFC 8030 for how long it is kept. */
async function draw({ subject, version }: PushSenderOptions, message: PushMessage) {
  const { generateRequestDetails } = await loadLibrary()
  const { endpoint, p256dh, auth } = message.subscription
  const { public_key: publicKey, private_key: privateKey } = message.keys
  const drawn = generateRequestDetails({ endpoint, keys: { p256dh, auth } }, message.payload, {
    vapidDetails: { subject, publicKey, privateKey },
    TTL: message.ttl_seconds,
    urgency: message.urgency,
    topic: message.topic,
    contentEncoding: 'aes128gcm',
  })
  if (drawn.body === null) throw new Error('a push without a body')
  const headers = Object.entries(drawn.headers).map(([name, value]) => [name, String(value)])
  return {
    url: endpoint,
    headers: { ...Object.fromEntries(headers), 'User-Agent': `Countersign/${version} (+push)` },
    body: drawn.body,
  }
}

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
