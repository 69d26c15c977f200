import { Router } from 'express'
import { fieldRequired } from '../../domain/errors.ts'
import { given } from '../../domain/given.ts'
import { referencesIn } from '../../domain/request.ts'
import { inviteMember } from '../../flow/joining/invite-member.ts'
import { changeMemberRole, listMembers, removeMember, renewMemberLink } from '../../flow/joining/members.ts'
import { offerRecovery, withdrawRecovery } from '../../flow/joining/recover-member.ts'
import {
  changeApiKey,
  createApiKey,
  refuseFullAccount,
  revokeApiKey,
} from '../../flow/keys/manage-api-keys.ts'
import { accessTo } from '../../flow/people/accounts.ts'
import {
  changeAccount,
  makeAccount,
  readPolicy,
  setPolicy,
  viewAccount,
} from '../../flow/people/manage-account.ts'
import { namesByReference } from '../../flow/people/names.ts'
import { undoIfReset } from '../../flow/people/person.ts'
import { requireRecentProof } from '../../flow/people/recent-proof.ts'
import { withdrawForOwner } from '../../flow/requests/cancel-request.ts'
import { readOverview } from '../../flow/requests/overview.ts'
import { exportHistory, readHistory } from '../../flow/requests/read-history.ts'
import { readAccountSecrets, readOwnSecret } from '../../flow/webhooks/manage-webhooks.ts'
import {
  type accountAnswer,
  accountBody,
  accountQuery,
  EXPORT_COLUMNS,
  exportCells,
  type historyAnswer,
  historyExportQuery,
  historyQuery,
  newAccountBody,
  presentAccount,
  presentExportedRow,
  presentHistoryRow,
  withdrawalBody,
  type withdrawnAnswer,
} from '../api/account.ts'
import {
  type changedKeyAnswer,
  changeKeyBody,
  type createdKeyAnswer,
  type keyListAnswer,
  newKeyBody,
  presentKey,
  type revokedKeyAnswer,
  type webhookSecretAnswer,
} from '../api/api-keys.ts'
import {
  type changedMemberAnswer,
  type invitedAnswer,
  type linkAnswer,
  memberRoleBody,
  type membersAnswer,
  newMemberBody,
  presentLink,
  presentMember,
  type recoveryAnswer,
} from '../api/members.ts'
import { type overviewAnswer, overviewQuery, presentOverview } from '../api/overview.ts'
import { type policyAnswer, policyBody, presentPolicy } from '../api/policy.ts'
import { type okAnswer, presentTimes } from '../api/shared/fields.ts'
import { proofBody } from '../api/shared/proofs.ts'
import { exportFile, mapBatches } from '../export-file.ts'
import { bindTo, type Endpoint, type WithId } from '../handler.ts'
import type { HttpDeps } from '../http-deps.ts'
import { authenticate, callerOf } from '../middleware/authenticate.ts'
import { clientAddress } from '../middleware/client-address.ts'
import { jsonBody } from '../middleware/json-body.ts'
import { limitByKey, limitByPerson } from '../middleware/limit.ts'
import { ownerOf, requireSession, sessionOf, whenSession } from '../middleware/session.ts'
import { decodeCursor, encodeCursor, parseInput } from '../read-input.ts'
import { ignoredIn, refusePolicyFields } from '../unknown-fields.ts'

/** Creates the routes of an account: requests, keys, members, policy. Its people read what their role allows; its owner edits. */
export function accountRoutes(deps: HttpDeps): Router {
  const session = requireSession(deps)
  const person = [session, limitByPerson(deps, 'person')]
  const router = Router()
  const on = bindTo(deps)
  router.get('/', person, on(showAccount))
  router.post('/', person, jsonBody, on(makeOwn))
  router.patch('/', person, jsonBody, on(changeOwnAccount))
  router.get('/overview', person, on(showOverview))
  router.get('/requests', person, on(listAccountRequests))
  router.post('/requests/withdraw', person, jsonBody, on(withdrawRequests))
  router.get('/requests/export', session, limitByPerson(deps, 'export'), on(exportAccountRequests))
  // Sessions only, never an API key: a key must not make keys.
  router.get('/api-keys', session, on(listKeys))
  router.post('/api-keys', person, jsonBody, on(createKey))
  router.patch('/api-keys/:id', person, jsonBody, on(changeKey))
  router.delete('/api-keys/:id', person, on(revokeKey))
  // The members of the signed-in person's own account, and its policy.
  router.get('/members', person, on(showMembers))
  router.post('/members', person, jsonBody, on(inviteToAccount))
  router.post('/members/:id/link', person, jsonBody, on(renewInvitationLink))
  router.patch('/members/:id', person, jsonBody, on(changeRole))
  router.post('/members/:id/remove', person, jsonBody, on(endMembership))
  router.post('/members/:id/recovery', person, jsonBody, on(offerNewSetUp))
  router.post('/members/:id/recovery/cancel', person, on(cancelNewSetUp))
  router.get('/policy', person, on(showPolicy))
  router.put('/policy', person, jsonBody, on(replacePolicy))
  // The callback signing secrets (interface, endpoint 7): its own for an API key, those of all live keys for a session. A request
  // with an API key never falls back to the browser's cookie; one without any credential is refused for its missing key.
  const forSession = [...person, on(secretsOfAccount)]
  const forKey = [authenticate(deps), limitByKey(deps, 'key'), on(secretOfKey)]
  router.get('/webhook-secret', whenSession(deps.settings.baseUrl, forSession), forKey)
  return router
}

const showAccount: Endpoint<typeof accountAnswer> = async (deps, request, response) => {
  const { account } = parseInput(accountQuery, request.query)
  response.json(presentAccount(await viewAccount(deps, sessionOf(response).user, account), deps.models))
}

const makeOwn: Endpoint<typeof accountAnswer> = async (deps, request, response) => {
  const { name } = parseInput(newAccountBody, request.body)
  const made = await makeAccount(deps, sessionOf(response).user, name, clientAddress(request))
  response.status(201).json(presentAccount(made, deps.models))
}

const showOverview: Endpoint<typeof overviewAnswer> = async (deps, request, response) => {
  const { days, account } = parseInput(overviewQuery, request.query)
  const { user } = sessionOf(response)
  response.json(presentOverview(await readOverview(deps, user, { days, ...given({ account }) })))
}

const changeOwnAccount: Endpoint<typeof accountAnswer> = async (deps, request, response) => {
  const wanted = given(parseInput(accountBody, request.body))
  if (Object.keys(wanted).length === 0) throw fieldRequired('name')
  const { user } = sessionOf(response)
  const changed = await changeAccount(deps, user, wanted, clientAddress(request))
  response.json(presentAccount(changed, deps.models))
}

const listAccountRequests: Endpoint<typeof historyAnswer> = async (deps, request, response) => {
  const { cursor, limit, key, person, ...filter } = parseInput(historyQuery, request.query)
  const before = cursor === undefined ? undefined : decodeCursor(cursor)
  const query = { ...given(filter), ...given({ before, api_key_id: key, person_id: person }), limit }
  const { user } = sessionOf(response)
  const { requests, next, searchedTo } = await readHistory(deps, user, query)
  const accountId = query.account ?? user.account_id
  response.json({
    data: requests.map(presentHistoryRow),
    next_cursor: next === undefined ? null : encodeCursor(next),
    searched_to: searchedTo?.toISOString(),
    names: await namesByReference(deps, user, accountId, requests.flatMap(referencesIn)),
  })
}

const exportAccountRequests: Endpoint = async (deps, request, response) => {
  const who = sessionOf(response)
  const { format, key, person, ...filter } = parseInput(historyExportQuery, request.query)
  const accountId = filter.account ?? who.user.account_id
  const query = { ...given(filter), ...given({ api_key_id: key, person_id: person }) }
  const batches = exportHistory(deps, who, query)
  const rows = mapBatches(batches, async (requests) => {
    const names = await namesByReference(deps, who.user, accountId, requests.flatMap(referencesIn))
    return requests.map((one) => presentExportedRow(one, names))
  })
  const file = {
    person: who.user,
    name: 'requests',
    format,
    columns: EXPORT_COLUMNS,
    cells: exportCells,
  }
  await exportFile(deps, response, file, rows)
}

const withdrawRequests: Endpoint<typeof withdrawnAnswer> = async (deps, request, response) => {
  const { ids } = parseInput(withdrawalBody, request.body)
  const owner = ownerOf(request, response, 'no_own_account')
  response.json({ withdrawn: await withdrawForOwner(deps, owner, ids) })
}

const listKeys: Endpoint<typeof keyListAnswer> = async (deps, _request, response) => {
  const keys = await deps.apiKeys.list(sessionOf(response).user.account_id)
  response.json({ data: keys.filter((key) => key.internal !== true).map(presentKey), next_cursor: null })
}

const createKey: Endpoint<typeof createdKeyAnswer> = async (deps, request, response) => {
  const { accountId, actor } = ownerOf(request, response, 'no_own_account')
  const later = 'cannot be set when the key is made; PATCH the key with a `policy` afterwards'
  refusePolicyFields(request.body ?? {}, later, ['high_impact'])
  const { name, sandbox, scopes, source_control } = parseInput(newKeyBody, request.body)
  if (name === '') throw fieldRequired('name')
  await refuseFullAccount(deps, accountId)
  // Last: nobody should confirm what is refused then.
  await requireRecentProof(deps, sessionOf(response))
  const distinct = given({ scopes: scopes && [...new Set(scopes)] })
  const wanted = { accountId, name, sandbox, source_control, ...distinct }
  const { raw_key, key } = await createApiKey(deps, wanted, actor)
  const revoke = () => revokeApiKey(deps, key.id, accountId, { kind: 'service' })
  await undoIfReset(deps, sessionOf(response).user, revoke)
  response.status(201).json({ raw_key, key: presentKey(key), ...ignoredIn(newKeyBody, request.body) })
}

const changeKey: Endpoint<typeof changedKeyAnswer, WithId> = async (deps, request, response) => {
  const { proof, ...change } = parseInput(changeKeyBody, request.body)
  const asked = { id: request.params.id, change, proof }
  const key = await changeApiKey(deps, sessionOf(response), asked, clientAddress(request))
  response.json({ key: presentKey(key), ...ignoredIn(changeKeyBody, request.body) })
}

const revokeKey: Endpoint<typeof revokedKeyAnswer, WithId> = async (deps, request, response) => {
  const { accountId, actor } = ownerOf(request, response)
  const key = await revokeApiKey(deps, request.params.id, accountId, actor)
  response.json({ ok: true, key: presentKey(key) })
}

const secretOfKey: Endpoint<typeof webhookSecretAnswer> = async (deps, _request, response) => {
  response.json({ webhook_signing_secret: await readOwnSecret(deps, callerOf(response)) })
}

const secretsOfAccount: Endpoint<typeof webhookSecretAnswer> = async (deps, request, response) => {
  const secrets = await readAccountSecrets(deps, sessionOf(response), clientAddress(request))
  const keys = secrets.map(({ key: { id, name, key_prefix }, secret }) => ({
    id,
    name,
    key_prefix,
    webhook_signing_secret: secret,
  }))
  response.json({ keys })
}

const showMembers: Endpoint<typeof membersAnswer> = async (deps, _request, response) => {
  const { account } = await accessTo(deps, sessionOf(response).user, 'manage')
  const members = await listMembers(deps, account)
  response.json({ data: members.map((one) => presentMember(one, deps.models)), next_cursor: null })
}

const inviteToAccount: Endpoint<typeof invitedAnswer> = async (deps, request, response) => {
  const { email, name, role, proof } = parseInput(newMemberBody, request.body)
  const input = { email, role, proof, ...given({ name }) }
  const invited = await inviteMember(deps, sessionOf(response), input, clientAddress(request))
  const member = presentMember(invited, deps.models)
  response.status(201).json({ member, link: presentLink(invited.link) })
}

const renewInvitationLink: Endpoint<typeof linkAnswer, WithId> = async (deps, request, response) => {
  const { proof } = parseInput(proofBody, request.body)
  const about = { userId: request.params.id, proof }
  const link = await renewMemberLink(deps, sessionOf(response), about, clientAddress(request))
  response.status(201).json({ link: presentLink(link) })
}

const changeRole: Endpoint<typeof changedMemberAnswer, WithId> = async (deps, request, response) => {
  const { role, proof } = parseInput(memberRoleBody, request.body)
  const about = { userId: request.params.id, role, proof }
  const member = await changeMemberRole(deps, sessionOf(response), about, clientAddress(request))
  response.json({ member: presentMember(member, deps.models) })
}

const endMembership: Endpoint<typeof okAnswer, WithId> = async (deps, request, response) => {
  const { proof } = parseInput(proofBody, request.body)
  const about = { userId: request.params.id, proof }
  await removeMember(deps, sessionOf(response), about, clientAddress(request))
  response.json({ ok: true })
}

const offerNewSetUp: Endpoint<typeof recoveryAnswer, WithId> = async (deps, request, response) => {
  const { proof } = parseInput(proofBody, request.body)
  const about = { userId: request.params.id, proof }
  const link = await offerRecovery(deps, sessionOf(response), about, clientAddress(request))
  response.status(201).json({ link: { ...presentLink(link), ...presentTimes(link) } })
}

const cancelNewSetUp: Endpoint<typeof okAnswer, WithId> = async (deps, request, response) => {
  await withdrawRecovery(deps, sessionOf(response), request.params.id, clientAddress(request))
  response.json({ ok: true })
}

const showPolicy: Endpoint<typeof policyAnswer> = async (deps, _request, response) => {
  const { account } = await accessTo(deps, sessionOf(response).user, 'manage')
  response.json(presentPolicy(await readPolicy(deps, account), deps.models))
}

const replacePolicy: Endpoint<typeof policyAnswer> = async (deps, request, response) => {
  const { proof, reminders, confirmed_only, authenticators, ...rules } = parseInput(policyBody, request.body)
  const policy = { ...rules, ...given({ reminders, confirmed_only, authenticators }) }
  const who = sessionOf(response)
  const account = await setPolicy(deps, who, { policy, proof }, clientAddress(request))
  const shown = presentPolicy(await readPolicy(deps, account), deps.models)
  response.json({ ...shown, ...ignoredIn(policyBody, request.body) })
}
