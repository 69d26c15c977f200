import { z } from 'zod'
import { idField, pageOf, timeField } from '../../api/shared/fields.ts'

const ownSession = z
  .strictObject({
    id: idField('ses'),
    current: z.boolean().meta({ description: 'The session that asks.' }),
    created_at: timeField,
    last_seen_at: timeField.meta({ description: 'To the minute; 12 idle hours end a session.' }),
    expires_at: timeField.meta({ description: 'Its latest end.' }),
    user_agent: z.string().meta({
      description: 'What the browser called itself when it signed in: at most 200 characters, not checked.',
      example: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    }),
  })
  .meta({ id: 'OwnSession' })

/** `GET /api/v1/me/sessions`. */
export const ownSessionsAnswer = pageOf(ownSession).meta({ id: 'OwnSessions' })

/** `POST /api/v1/me/sessions/end-others`. */
export const othersEndedAnswer = z
  .strictObject({ ok: z.literal(true), ended: z.int().min(0).meta({ description: 'How many.' }) })
  .meta({ id: 'OtherSessionsEnded' })
