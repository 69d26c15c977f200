import { z } from 'zod'
import { idField, timeField } from '../../api/shared/fields.ts'

const deviceAnswer = z
  .strictObject({
    id: idField('psd'),
    name: z.string().meta({ example: 'Firefox on my laptop' }),
    created_at: timeField,
    last_sent_at: timeField
      .nullable()
      .meta({ description: 'When the push service last accepted something for it; null before the first.' }),
  })
  .meta({ id: 'PushDevice', description: 'A browser that shows notifications.' })

/** `GET /api/v1/me/push`. */
export const pushDevicesAnswer = z
  .strictObject({
    public_key: z
      .string()
      .regex(/^[A-Za-z0-9_-]{87}$/)
      .meta({
        description: '`applicationServerKey` for subscribing: the key of this service (VAPID), base64url.',
      }),
    devices: z.array(deviceAnswer),
  })
  .meta({ id: 'PushDevices' })

/** `POST /api/v1/me/push`. */
export const newPushDeviceAnswer = z
  .strictObject({ device: deviceAnswer })
  .meta({ id: 'RegisteredPushDevice' })

/** `POST /api/v1/me/push/:id/test`. */
export const pushTestAnswer = z
  .strictObject({
    ok: z.literal(true),
    sent: z.boolean().meta({ description: 'Whether the push service accepted it.' }),
  })
  .meta({ id: 'PushTest' })
