import type { WebhookSender } from '../flow/delivery-ports.ts'
import { createGuardedPost, type SenderOptions } from './guarded-post.ts'
import { signatureHeaders } from './signature.ts'

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
