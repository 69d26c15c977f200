import { z } from 'zod'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { newPushDeviceBody } from '../schemas/push.ts'
import { idField, okAnswer } from '../schemas/responses/fields.ts'
import { newPushDeviceAnswer, pushDevicesAnswer, pushTestAnswer } from '../schemas/responses/push.ts'
import { operation } from './operation.ts'

const tag = 'Notifications'
const person = { by: 'session', changes: true } as const
const parameters = { path: z.object({ id: idField('psd').meta({ description: 'Device id.' }) }) }

const list = operation({
  id: 'listPushDevices',
  tag,
  summary: 'My browsers that show notifications',
  access: { by: 'session', changes: false },
  limited: true,
  answers: {
    '200': { schema: pushDevicesAnswer, description: 'All of them, and the key to subscribe with.' },
  },
})

const add = operation({
  id: 'addPushDevice',
  tag,
  summary: 'Have a browser show notifications',
  description:
    'Takes the subscription that the browser gave (`PushSubscription.toJSON()`). Its endpoint is held to the rules of webhook addresses. A browser that is known already is renewed; one that another person had shows theirs no more.',
  access: person,
  limited: true,
  body: {
    schema: newPushDeviceBody,
    required: 'subscription',
    invalid: ['subscription.endpoint', 'must be an https: URL'],
  },
  answers: { '201': { schema: newPushDeviceAnswer, description: 'Registered.' } },
  refusals: ['push_device_limit'],
})

const remove = operation({
  id: 'removePushDevice',
  tag,
  summary: 'Send a browser nothing more',
  description: 'Needs no proof: it lowers nothing.',
  access: person,
  limited: true,
  parameters,
  answers: { '200': { schema: okAnswer, description: 'Removed.' } },
  refusals: ['not_found'],
})

const test = operation({
  id: 'testPushDevice',
  tag,
  summary: 'Send a test to a browser',
  description: 'Tried once, at once.',
  access: person,
  limited: true,
  parameters,
  answers: { '200': { schema: pushTestAnswer, description: 'What the push service said.' } },
  refusals: ['not_found'],
})

export const pushPaths: ZodOpenApiPathsObject = {
  '/api/v1/me/push': { get: list, post: add },
  '/api/v1/me/push/{id}/remove': { post: remove },
  '/api/v1/me/push/{id}/test': { post: test },
}
