import { z } from 'zod'
import { givenName } from '../api/shared/input.ts'

/** Unpadded base64url of exactly so many bytes. */
function bytes(count: number) {
  const characters = Math.ceil((count * 8) / 6)
  return z
    .string({ error: 'must be a text' })
    .regex(new RegExp(`^[A-Za-z0-9_-]{${characters}}$`), `must be ${count} bytes in base64url`)
}

/** `PushSubscription.toJSON()` of the Push API; other fields of it are not used. */
const subscriptionSchema = z.object({
  endpoint: z
    .string({ error: 'must be a text' })
    .max(2048, 'is too long')
    .meta({ example: 'https://push.example.net/v2/9f2c4e6a8b0d1f35' }),
  keys: z.object({
    p256dh: bytes(65).meta({ description: "The browser's public key, a point on the curve P-256." }),
    auth: bytes(16).meta({ description: "The browser's authentication secret." }),
  }),
})

/** `POST /api/v1/me/push`. */
export const newPushDeviceBody = z
  .object({
    subscription: subscriptionSchema,
    name: givenName.meta({
      description: 'What the person calls the browser.',
      example: 'Firefox on my laptop',
    }),
  })
  .meta({ id: 'NewPushDevice' })
