import { z } from 'zod'
import type { PushDevice } from '../../domain/push.ts'
import { type Answer, idField, okAnswer, present, timeField } from './shared/fields.ts'
import { givenName, text } from './shared/input.ts'
import { idInPath, operations } from './shared/operation.ts'

/** Returns a schema for unpadded base64url of exactly `count` bytes. */
function bytes(count: number) {
  const characters = Math.ceil((count * 8) / 6)
  return text.regex(new RegExp(`^[A-Za-z0-9_-]{${characters}}$`), `must be ${count} bytes in base64url`)
}

/** The result of `PushSubscription.toJSON()` (Push API); its other fields are not used. */
const subscriptionSchema = z.object({
  endpoint: text.max(2048, 'is too long').meta({ example: 'https://push.example.net/v2/9f2c4e6a8b0d1f35' }),
  keys: z.object({
    p256dh: bytes(65).meta({ description: "The browser's public key, a point on the curve P-256." }),
    auth: bytes(16).meta({ description: "The browser's authentication secret." }),
  }),
})

export const newPushDeviceBody = z
  .object({
    subscription: subscriptionSchema,
    name: givenName.meta({
      description: 'The name that the person gave the browser.',
      example: 'Firefox on my laptop',
    }),
  })
  .meta({ id: 'NewPushDevice' })

const deviceAnswer = z
  .strictObject({
    id: idField('psd'),
    name: z.string().meta({ example: 'Firefox on my laptop' }),
    created_at: timeField,
    last_sent_at: timeField.nullable().meta({
      description: 'When the push service last accepted a notification for it; null before the first.',
    }),
  })
  .meta({ id: 'PushDevice', description: 'A browser that shows notifications.' })

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

export const newPushDeviceAnswer = z
  .strictObject({ device: deviceAnswer })
  .meta({ id: 'RegisteredPushDevice' })

export const pushTestAnswer = z
  .strictObject({
    ok: z.literal(true),
    sent: z.boolean().meta({ description: 'True: the push service accepted it.' }),
  })
  .meta({ id: 'PushTest' })

/** Presents a browser to its person: never the subscription, whose three parts are secrets. */
export function presentPushDevice(device: PushDevice): Answer<typeof deviceAnswer> {
  return present(deviceAnswer, device, { last_sent_at: device.last_sent_at?.toISOString() ?? null })
}

const parameters = { path: idInPath('psd', 'Device id.') }

export const pushOperations = operations('Notifications', {
  'get /api/v1/me/push': {
    id: 'listPushDevices',
    summary: 'List my browsers that show notifications',
    answers: {
      '200': { schema: pushDevicesAnswer, description: 'All of them, and the key to subscribe with.' },
    },
  },
  'post /api/v1/me/push': {
    id: 'addPushDevice',
    summary: 'Register a browser for notifications',
    description:
      'Expects the subscription that the browser gave (`PushSubscription.toJSON()`). Its endpoint must follow the rules of webhook addresses. A browser that is already registered is renewed; one that another person had registered no longer shows their notifications.',
    body: {
      schema: newPushDeviceBody,
    },
    answers: { '201': { schema: newPushDeviceAnswer, description: 'Registered.' } },
    refusals: ['push_device_limit', 'proof_required'],
  },
  'post /api/v1/me/push/{id}/remove': {
    id: 'removePushDevice',
    summary: 'Send a browser nothing more',
    description: 'Needs no proof, because it weakens nothing.',
    parameters,
    answers: { '200': { schema: okAnswer, description: 'Removed.' } },
    refusals: ['not_found'],
  },
  'post /api/v1/me/push/{id}/test': {
    id: 'testPushDevice',
    summary: 'Send a test to a browser',
    description: 'Tried once, at once.',
    parameters,
    answers: { '200': { schema: pushTestAnswer, description: 'The answer of the push service.' } },
    refusals: ['not_found'],
  },
})
