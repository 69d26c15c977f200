import { z } from 'zod'
import { EVENT_TYPES, type EventType } from '../../domain/event.ts'

/** What a webhook can ask for: everything but the test, which comes when somebody asks for it. */
export const SUBSCRIBABLE = EVENT_TYPES.filter(
  (type): type is Exclude<EventType, 'webhook.test'> => type !== 'webhook.test',
)

/** `POST /api/v1/account/webhooks`. */
export const newWebhookBody = z
  .object({
    url: z.string({ error: 'must be a text' }).meta({
      description: 'Where events are posted to: https: on the public internet, at most 2048 characters.',
      example: 'https://hooks.example.com/countersign',
    }),
    events: z
      .array(z.enum(SUBSCRIBABLE, { error: `must be one of ${SUBSCRIBABLE.join(', ')}` }))
      .min(1, 'must name at least one event; leave it out for all')
      .max(SUBSCRIBABLE.length, 'must not repeat events')
      .optional()
      .meta({ description: 'The events it is told; without it all, those of later versions included.' }),
  })
  .meta({ id: 'CreateWebhook' })
