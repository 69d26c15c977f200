import { z } from 'zod'
import { proofSchema } from '../api/shared/proofs.ts'

const text = z.string({ error: 'must be a text' })
const token = text.max(128, 'is too long')
const platform = z.enum(['slack', 'teams'], { error: 'must be slack or teams' })
/** Longer than any platform's ids. */
const platformId = text.max(256, 'is too long')

/** `POST /api/v1/chat-links/look`. */
export const lookAtChatLinkBody = z.object({ token }).meta({ id: 'LookAtChatLink' })

/** `POST /api/v1/chat-links/use`. A missing proof is answered 403, not 400: it is about who asks. */
export const useChatLinkBody = z.object({ token, proof: proofSchema }).meta({ id: 'UseChatLink' })

/** `POST /api/v1/me/chat/remove`. */
export const removeIdentityBody = z
  .object({ key: text.max(600, 'is too long').meta({ example: 'slack:T024BE7LD:U023BECGF' }) })
  .meta({ id: 'RemoveChatIdentity' })

/** `POST /api/v1/account/channels/remove`. */
export const removeChannelBody = z
  .object({ platform, tenant: platformId, channel: platformId })
  .meta({ id: 'RemoveChatChannel' })

/** `POST /api/v1/account/chat-apps/remove`. */
export const removeChatAppBody = z
  .object({ platform: z.literal('slack', { error: 'must be slack' }), tenant: platformId })
  .meta({ id: 'RemoveChatApp' })
