import type { PushMessage, PushSender } from '../flow/ports.ts'
import { createGuardedPost, type SenderOptions } from './guarded-post.ts'

export interface PushSenderOptions extends SenderOptions {
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
