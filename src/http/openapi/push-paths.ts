import { okAnswer } from '../api/shared/fields.ts'
import { idInPath, operations, SIGNED_IN, SIGNED_IN_CHANGE } from '../api/shared/operation.ts'
import { newPushDeviceBody } from '../schemas/push.ts'
import { newPushDeviceAnswer, pushDevicesAnswer, pushTestAnswer } from '../schemas/responses/push.ts'

const parameters = { path: idInPath('psd', 'Device id.') }

export const pushOperations = operations('Notifications', {
  'get /api/v1/me/push': {
    id: 'listPushDevices',
    summary: 'My browsers that show notifications',
    access: SIGNED_IN,
    limited: true,
    answers: {
      '200': { schema: pushDevicesAnswer, description: 'All of them, and the key to subscribe with.' },
    },
  },
  'post /api/v1/me/push': {
    id: 'addPushDevice',
    summary: 'Have a browser show notifications',
    description:
      'Takes the subscription that the browser gave (`PushSubscription.toJSON()`). Its endpoint is held to the rules of webhook addresses. A browser that is known already is renewed; one that another person had shows theirs no more.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    body: {
      schema: newPushDeviceBody,
      required: 'subscription',
      invalid: ['subscription.endpoint', 'must be an https: URL'],
    },
    answers: { '201': { schema: newPushDeviceAnswer, description: 'Registered.' } },
    refusals: ['push_device_limit'],
  },
  'post /api/v1/me/push/{id}/remove': {
    id: 'removePushDevice',
    summary: 'Send a browser nothing more',
    description: 'Needs no proof: it lowers nothing.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    parameters,
    answers: { '200': { schema: okAnswer, description: 'Removed.' } },
    refusals: ['not_found'],
  },
  'post /api/v1/me/push/{id}/test': {
    id: 'testPushDevice',
    summary: 'Send a test to a browser',
    description: 'Tried once, at once.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    parameters,
    answers: { '200': { schema: pushTestAnswer, description: 'What the push service said.' } },
    refusals: ['not_found'],
  },
})
