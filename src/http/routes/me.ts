import { Router } from 'express'
import { given } from '../../domain/given.ts'
import { mailDeviceId } from '../../domain/push.ts'
import type { User } from '../../domain/user.ts'
import { acceptInvitation, declineInvitation, leaveAccount } from '../../flow/joining/members.ts'
import { refuseRecovery } from '../../flow/joining/recover-member.ts'
import { delegateCandidates, delegateOf, removeDelegate, setDelegate } from '../../flow/people/delegates.ts'
import { addPasskey, removePasskey, startAddingPasskey } from '../../flow/people/manage-passkeys.ts'
import { addTotp, removeTotp, renewBackupCodes, startAddingTotp } from '../../flow/people/manage-totp.ts'
import { changeProfile } from '../../flow/people/person.ts'
import { requireRecentProof } from '../../flow/people/recent-proof.ts'
import { startStepUp } from '../../flow/people/step-up.ts'
import { changeHearing, testChat } from '../../flow/tell/change-hearing.ts'
import { confirmAddress, mailAddressOf, sendAddressCode } from '../../flow/tell/mail-address.ts'
import {
  addPushDevice,
  checkPushDevice,
  listPushDevices,
  removePushDevice,
  testPushDevice,
} from '../../flow/tell/manage-devices.ts'
import { nextSteps } from '../../flow/tell/next-steps.ts'
import { accountQuery } from '../api/account.ts'
import {
  type backupCodesAnswer,
  codeBody,
  type factorsAnswer,
  type newPasskeyAnswer,
  newPasskeyBody,
  newPasskeyOptionsBody,
  presentFactors,
  presentPasskey,
  presentTotpSetUp,
  stepUpBody,
  type totpSetUpAnswer,
} from '../api/factors.ts'
import {
  codeOfAddressBody,
  type codeSentAnswer,
  type hearingAnswer,
  hearingBody,
  presentHearing,
} from '../api/hearing.ts'
import { acceptanceBody } from '../api/members.ts'
import {
  type candidatesAnswer,
  delegateBody,
  type nextStepsAnswer,
  presentCandidate,
  presentNextSteps,
  type profileAnswer,
  profileBody,
} from '../api/profile.ts'
import {
  type newPushDeviceAnswer,
  newPushDeviceBody,
  presentPushDevice,
  type pushDevicesAnswer,
  type pushTestAnswer,
} from '../api/push.ts'
import { presentUser } from '../api/session.ts'
import type { okAnswer } from '../api/shared/fields.ts'
import { proofBody } from '../api/shared/proofs.ts'
import { drawQr } from '../draw-qr.ts'
import { bindTo, type Endpoint, type Handler, type WithId } from '../handler.ts'
import type { HttpDeps } from '../http-deps.ts'
import { clientAddress } from '../middleware/client-address.ts'
import { setGrantCookies } from '../middleware/cookies.ts'
import { jsonBody } from '../middleware/json-body.ts'
import { limitByPerson } from '../middleware/limit.ts'
import { clientOf, requireSession, sessionOf } from '../middleware/session.ts'
import { parseInput } from '../read-input.ts'

/** Creates the routes for a person's own settings. */
export function meRoutes(deps: HttpDeps): Router {
  const session = requireSession(deps)
  const person = [session, limitByPerson(deps, 'person')]
  const router = Router()
  const on = bindTo(deps)
  // Factors: every change needs a fresh proof, ends the person's other sessions and renews this session.
  router.get('/factors', person, on(showFactors))
  router.post('/step-up/options', person, jsonBody, on(stepUpOptions))
  router.post('/passkeys/options', person, jsonBody, on(newPasskeyOptions))
  router.post('/passkeys', person, jsonBody, on(addOwnPasskey))
  router.post('/passkeys/:id/remove', person, jsonBody, on(removeOwnPasskey))
  router.post('/totp/options', person, jsonBody, on(newTotpOptions))
  router.post('/totp', person, jsonBody, on(addOwnTotp))
  router.post('/totp/remove', person, jsonBody, on(removeOwnTotp))
  router.post('/backup-codes', person, jsonBody, on(newBackupCodes))
  // The person's name, the default time their requests wait, what is left to set up, and their delegate.
  router.patch('/', person, jsonBody, on(changeOwnProfile))
  router.get('/next-steps', person, on(showNextSteps))
  router.get('/delegate/candidates', person, on(listCandidates))
  router.put('/delegate', person, jsonBody, on(setOwnDelegate))
  router.post('/delegate/remove', person, jsonBody, on(removeOwnDelegate))
  // Invitations to other people's accounts, and leaving these accounts.
  router.post('/invitations/:id/accept', person, jsonBody, on(joinAccount))
  router.post('/invitations/:id/decline', person, jsonBody, answerMembership(deps, declineInvitation))
  router.post('/memberships/:id/leave', person, jsonBody, answerMembership(deps, leaveAccount))
  router.post('/recovery/refuse', person, on(refuseNewSetUp))
  // Browsers that show notifications.
  router.get('/push', person, on(listDevices))
  router.post('/push', person, jsonBody, on(addDevice))
  router.post('/push/:id/remove', person, jsonBody, on(removeDevice))
  // What the person is told by which channel, and their address.
  router.get('/notifications', person, on(showHearing))
  router.patch('/notifications', person, jsonBody, on(changeOwnHearing))
  router.post('/mail', session, limitByPerson(deps, 'push_test'), jsonBody, on(sendCode))
  router.post('/mail/confirm', person, jsonBody, on(confirmOwnAddress))
  router.post('/chat/test', session, limitByPerson(deps, 'push_test'), jsonBody, on(testOwnChat))
  // Each test waits for a foreign server, in addition to what the workers send there (T9).
  router.post('/push/:id/test', session, limitByPerson(deps, 'push_test'), jsonBody, on(testDevice))
  return router
}

const showFactors: Endpoint<typeof factorsAnswer> = (deps, _request, response) => {
  response.json(presentFactors(sessionOf(response).user, deps.models))
}

const stepUpOptions: Endpoint = async (deps, request, response) => {
  const { operation, target } = parseInput(stepUpBody, request.body)
  const asked = target === undefined ? { operation } : { operation, target }
  response.json(await startStepUp(deps, sessionOf(response), asked))
}

const newPasskeyOptions: Endpoint = async (deps, request, response) => {
  const asked = parseInput(newPasskeyOptionsBody, request.body)
  const { address } = clientOf(request)
  response.json(await startAddingPasskey(deps, sessionOf(response), asked, address))
}

const addOwnPasskey: Endpoint<typeof newPasskeyAnswer> = async (deps, request, response) => {
  const body = parseInput(newPasskeyBody, request.body)
  const { passkey, grant } = await addPasskey(deps, sessionOf(response), body, clientOf(request))
  setGrantCookies(response, deps, grant)
  response.status(201).json({ passkey: presentPasskey(passkey, deps.models) })
}

const removeOwnPasskey: Endpoint<typeof okAnswer, WithId> = async (deps, request, response) => {
  const { proof } = parseInput(proofBody, request.body)
  const { id } = request.params
  const grant = await removePasskey(deps, sessionOf(response), { id, proof }, clientOf(request))
  setGrantCookies(response, deps, grant)
  response.json({ ok: true })
}

const newTotpOptions: Endpoint<typeof totpSetUpAnswer> = async (deps, request, response) => {
  const { proof } = parseInput(proofBody, request.body)
  const setUp = await startAddingTotp(deps, sessionOf(response), proof, clientOf(request).address)
  response.json(presentTotpSetUp(setUp, await drawQr(setUp.otpauth_url)))
}

const addOwnTotp: Endpoint<typeof backupCodesAnswer> = async (deps, request, response) => {
  const { code } = parseInput(codeBody, request.body)
  const { backup_codes, grant } = await addTotp(deps, sessionOf(response), code, clientOf(request))
  setGrantCookies(response, deps, grant)
  response.status(201).json({ backup_codes })
}

const removeOwnTotp: Endpoint<typeof okAnswer> = async (deps, request, response) => {
  const { proof } = parseInput(proofBody, request.body)
  const grant = await removeTotp(deps, sessionOf(response), proof, clientOf(request))
  setGrantCookies(response, deps, grant)
  response.json({ ok: true })
}

const newBackupCodes: Endpoint<typeof backupCodesAnswer> = async (deps, request, response) => {
  const { proof } = parseInput(proofBody, request.body)
  const { backup_codes, grant } = await renewBackupCodes(deps, sessionOf(response), proof, clientOf(request))
  setGrantCookies(response, deps, grant)
  response.status(201).json({ backup_codes })
}

const changeOwnProfile: Endpoint<typeof profileAnswer> = async (deps, request, response) => {
  const wanted = given(parseInput(profileBody, request.body))
  const { user } = sessionOf(response)
  response.json(await answer(deps, await changeProfile(deps, user, wanted, clientAddress(request))))
}

const showNextSteps: Endpoint<typeof nextStepsAnswer> = async (deps, request, response) => {
  const { account } = parseInput(accountQuery, request.query)
  response.json(presentNextSteps(await nextSteps(deps, sessionOf(response).user, account)))
}

const listCandidates: Endpoint<typeof candidatesAnswer> = async (deps, _request, response) => {
  const found = await delegateCandidates(deps, sessionOf(response).user)
  response.json({ data: found.map(presentCandidate), next_cursor: null })
}

const setOwnDelegate: Endpoint<typeof profileAnswer> = async (deps, request, response) => {
  const { proof, ...delegate } = parseInput(delegateBody, request.body)
  const who = sessionOf(response)
  const changed = await setDelegate(deps, who, { delegate, proof }, clientAddress(request))
  response.json(await answer(deps, changed))
}

const removeOwnDelegate: Endpoint<typeof profileAnswer> = async (deps, request, response) => {
  const { user } = sessionOf(response)
  response.json(await answer(deps, await removeDelegate(deps, user, { address: clientAddress(request) })))
}

async function answer(deps: HttpDeps, user: User) {
  return { user: presentUser(user, await delegateOf(deps, user)) }
}

const joinAccount: Endpoint<typeof okAnswer, WithId> = async (deps, request, response) => {
  const { token } = parseInput(acceptanceBody, request.body)
  const who = { userId: sessionOf(response).user.id, address: clientAddress(request) }
  await acceptInvitation(deps, request.params.id, who, token)
  response.json({ ok: true })
}

function answerMembership(
  deps: HttpDeps,
  answer: typeof declineInvitation,
): Handler<typeof okAnswer, WithId> {
  return async function answerMembership(request, response) {
    const who = { userId: sessionOf(response).user.id, address: clientAddress(request) }
    await answer(deps, request.params.id, who)
    response.json({ ok: true })
  }
}

const refuseNewSetUp: Endpoint<typeof okAnswer> = async (deps, request, response) => {
  await refuseRecovery(deps, sessionOf(response).user, clientAddress(request))
  response.json({ ok: true })
}

const listDevices: Endpoint<typeof pushDevicesAnswer> = async (deps, _request, response) => {
  const devices = await listPushDevices(deps, sessionOf(response).user)
  const { public_key } = deps.pushKey.current()
  response.json({ public_key, devices: devices.map(presentPushDevice) })
}

const addDevice: Endpoint<typeof newPushDeviceAnswer> = async (deps, request, response) => {
  const { subscription, name } = parseInput(newPushDeviceBody, request.body)
  const { endpoint, keys } = subscription
  const input = { subscription: { endpoint, ...keys }, name }
  const who = sessionOf(response)
  await checkPushDevice(deps, who.user, input.subscription)
  // Last: nobody should confirm what is refused then.
  await requireRecentProof(deps, who)
  const device = await addPushDevice(deps, who.user, input, clientAddress(request))
  response.status(201).json({ device: presentPushDevice(device) })
}

const removeDevice: Endpoint<typeof okAnswer, WithId> = async (deps, request, response) => {
  await removePushDevice(deps, sessionOf(response).user, request.params.id, clientAddress(request))
  response.json({ ok: true })
}

const testDevice: Endpoint<typeof pushTestAnswer, WithId> = async (deps, request, response) => {
  const sent = await testPushDevice(deps, sessionOf(response).user, request.params.id)
  response.json({ ok: true, sent })
}

const showHearing: Endpoint<typeof hearingAnswer> = async (deps, _request, response) => {
  response.json(await hearingOf(deps, sessionOf(response).user))
}

const changeOwnHearing: Endpoint<typeof hearingAnswer> = async (deps, request, response) => {
  const wanted = given(parseInput(hearingBody, request.body))
  const changed = await changeHearing(deps, sessionOf(response).user, wanted, clientAddress(request))
  response.json(await hearingOf(deps, changed))
}

async function hearingOf(deps: HttpDeps, user: User) {
  const mail = { id: mailDeviceId(user.id), device: await mailAddressOf(deps, user) }
  return presentHearing(user, deps.mailer && mail)
}

const sendCode: Endpoint<typeof codeSentAnswer> = async (deps, _request, response) => {
  response.json({ ok: true, sent: await sendAddressCode(deps, sessionOf(response).user) })
}

const confirmOwnAddress: Endpoint<typeof hearingAnswer> = async (deps, request, response) => {
  const { code } = parseInput(codeOfAddressBody, request.body)
  const { user } = sessionOf(response)
  await confirmAddress(deps, user, code, clientAddress(request))
  response.json(await hearingOf(deps, user))
}

const testOwnChat: Endpoint<typeof okAnswer> = async (deps, request, response) => {
  await testChat(deps, sessionOf(response).user, clientAddress(request))
  response.json({ ok: true })
}
