import { Router } from 'express'
import { accessTo } from '../../flow/people/accounts.ts'
import { inviteMember } from '../../flow/people/invite-member.ts'
import { readPolicy, setPolicy } from '../../flow/people/manage-account.ts'
import { changeMemberRole, listMembers, removeMember, renewMemberLink } from '../../flow/people/members.ts'
import {
  type changedMemberAnswer,
  type invitedAnswer,
  type linkAnswer,
  memberRoleBody,
  type membersAnswer,
  newMemberBody,
  presentLink,
  presentMember,
} from '../api/members.ts'
import { type policyAnswer, policyBody, presentPolicy } from '../api/policy.ts'
import type { okAnswer } from '../api/shared/fields.ts'
import { proofBody } from '../api/shared/proofs.ts'
import { type Handler, parseBody, type WithId } from '../handler.ts'
import type { HttpDeps } from '../http-deps.ts'
import { clientAddress } from '../middleware/client-address.ts'
import { jsonBody } from '../middleware/json-body.ts'
import { limitByPerson } from '../middleware/limit.ts'
import { requireSession, sessionOf } from '../middleware/session.ts'

/** Who works in the signed-in person's own account. */
export function memberRoutes(deps: HttpDeps): Router {
  const owner = [requireSession(deps), limitByPerson(deps, 'person')]
  const router = Router()
  router.get('/', owner, list(deps))
  router.post('/', owner, jsonBody, invite(deps))
  router.post('/:id/link', owner, jsonBody, newLink(deps))
  router.patch('/:id', owner, jsonBody, changeRole(deps))
  router.post('/:id/remove', owner, jsonBody, remove(deps))
  return router
}

function list(deps: HttpDeps): Handler<typeof membersAnswer> {
  return async (_request, response) => {
    const { account } = await accessTo(deps, sessionOf(response).user, 'manage')
    const members = await listMembers(deps, account)
    response.json({ data: members.map(presentMember), next_cursor: null })
  }
}

function invite(deps: HttpDeps): Handler<typeof invitedAnswer> {
  return async (request, response) => {
    const { email, name, role, proof } = parseBody(newMemberBody, request.body)
    const input = { email, role, proof, ...(name === undefined ? {} : { name }) }
    const invited = await inviteMember(deps, sessionOf(response), input, clientAddress(request))
    response.status(201).json({ member: presentMember(invited), link: presentLink(invited.link) })
  }
}

function newLink(deps: HttpDeps): Handler<typeof linkAnswer, WithId> {
  return async (request, response) => {
    const { proof } = parseBody(proofBody, request.body)
    const about = { userId: request.params.id, proof }
    const link = await renewMemberLink(deps, sessionOf(response), about, clientAddress(request))
    response.status(201).json({ link: presentLink(link) })
  }
}

function changeRole(deps: HttpDeps): Handler<typeof changedMemberAnswer, WithId> {
  return async (request, response) => {
    const { role, proof } = parseBody(memberRoleBody, request.body)
    const about = { userId: request.params.id, role, proof }
    const member = await changeMemberRole(deps, sessionOf(response), about, clientAddress(request))
    response.json({ member: presentMember(member) })
  }
}

function remove(deps: HttpDeps): Handler<typeof okAnswer, WithId> {
  return async (request, response) => {
    const { proof } = parseBody(proofBody, request.body)
    const about = { userId: request.params.id, proof }
    await removeMember(deps, sessionOf(response), about, clientAddress(request))
    response.json({ ok: true })
  }
}

/** The rules for who decides in the signed-in person's own account. */
export function policyRoutes(deps: HttpDeps): Router {
  const owner = [requireSession(deps), limitByPerson(deps, 'person')]
  const router = Router()
  router.get('/', owner, read(deps))
  router.put('/', owner, jsonBody, replace(deps))
  return router
}

function read(deps: HttpDeps): Handler<typeof policyAnswer> {
  return async (_request, response) => {
    const { account } = await accessTo(deps, sessionOf(response).user, 'manage')
    response.json(presentPolicy(await readPolicy(deps, account)))
  }
}

function replace(deps: HttpDeps): Handler<typeof policyAnswer> {
  return async (request, response) => {
    const { proof, reminders, ...rules } = parseBody(policyBody, request.body)
    const policy = { ...rules, ...(reminders === undefined ? {} : { reminders }) }
    const who = sessionOf(response)
    const account = await setPolicy(deps, who, { policy, proof }, clientAddress(request))
    response.json(presentPolicy(await readPolicy(deps, account)))
  }
}
