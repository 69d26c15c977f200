import { Router } from 'express'
import {
  addPushDevice,
  listPushDevices,
  removePushDevice,
  testPushDevice,
} from '../../flow/push/manage-devices.ts'
import {
  type newPushDeviceAnswer,
  newPushDeviceBody,
  presentPushDevice,
  type pushDevicesAnswer,
  type pushTestAnswer,
} from '../api/push.ts'
import type { okAnswer } from '../api/shared/fields.ts'
import { type Handler, parseBody, type WithId } from '../handler.ts'
import type { HttpDeps } from '../http-deps.ts'
import { clientAddress } from '../middleware/client-address.ts'
import { jsonBody } from '../middleware/json-body.ts'
import { limitByPerson } from '../middleware/limit.ts'
import { requireSession, sessionOf } from '../middleware/session.ts'

/** A person's browsers that show notifications. */
export function pushRoutes(deps: HttpDeps): Router {
  const person = [requireSession(deps), limitByPerson(deps, 'person')]
  const router = Router()
  router.get('/', person, list(deps))
  router.post('/', person, jsonBody, add(deps))
  router.post('/:id/remove', person, jsonBody, remove(deps))
  // Each test waits on a foreign server, beside what the workers send there (T9).
  router.post('/:id/test', requireSession(deps), limitByPerson(deps, 'push_test'), jsonBody, test(deps))
  return router
}

function list(deps: HttpDeps): Handler<typeof pushDevicesAnswer> {
  return async (_request, response) => {
    const devices = await listPushDevices(deps, sessionOf(response).user)
    const { public_key } = deps.pushKey.current()
    response.json({ public_key, devices: devices.map(presentPushDevice) })
  }
}

function add(deps: HttpDeps): Handler<typeof newPushDeviceAnswer> {
  return async (request, response) => {
    const { subscription, name } = parseBody(newPushDeviceBody, request.body)
    const { endpoint, keys } = subscription
    const input = { subscription: { endpoint, ...keys }, name }
    const device = await addPushDevice(deps, sessionOf(response).user, input, clientAddress(request))
    response.status(201).json({ device: presentPushDevice(device) })
  }
}

function remove(deps: HttpDeps): Handler<typeof okAnswer, WithId> {
  return async (request, response) => {
    await removePushDevice(deps, sessionOf(response).user, request.params.id, clientAddress(request))
    response.json({ ok: true })
  }
}

function test(deps: HttpDeps): Handler<typeof pushTestAnswer, WithId> {
  return async (request, response) => {
    const sent = await testPushDevice(deps, sessionOf(response).user, request.params.id)
    response.json({ ok: true, sent })
  }
}
