import { z } from 'zod'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { codeBody, newPasskeyBody, proofBody, stepUpBody } from '../schemas/people.ts'
import { idField, okAnswer } from '../schemas/responses/fields.ts'
import {
  backupCodesAnswer,
  factorsAnswer,
  newPasskeyAnswer,
  stepUpAnswer,
  totpSetUpAnswer,
} from '../schemas/responses/people.ts'
import { creationOptionsAnswer } from '../schemas/responses/webauthn.ts'
import { operation } from './operation.ts'

const tag = 'Own factors'
const person = { by: 'session', changes: true } as const
const proof = {
  schema: proofBody,
  invalid: ['proof', 'must hold exactly one of passkey and totp'],
  optional: true,
} as const
/** Why a fresh proof can be refused. */
export const PROOF_REFUSALS = [
  'proof_required',
  'challenge_invalid',
  'passkey_refused',
  'totp_refused',
  'totp_disabled',
  'totp_locked',
] as const
const renewed = 'Every other session of the person ends; this one gets a new cookie.'

const factors = operation({
  id: 'listFactors',
  tag,
  summary: 'My passkeys and codes',
  access: { by: 'session', changes: false },
  limited: true,
  answers: { '200': { schema: factorsAnswer, description: 'All factors.' } },
})

const stepUp = operation({
  id: 'startStepUp',
  tag,
  summary: 'Start confirming a change',
  description: 'Says which factors may confirm it; the assertion counts for this operation and target only.',
  access: person,
  limited: true,
  body: {
    schema: stepUpBody,
    required: 'operation',
    invalid: ['target', 'is too long'],
  },
  answers: { '200': { schema: stepUpAnswer, description: 'How to confirm.' } },
  refusals: [
    'not_found',
    'last_factor',
    'totp_exists',
    'passkey_limit',
    'identity_limit',
    'method_not_enrolled',
  ],
})

const passkeyOptions = operation({
  id: 'startAddingPasskey',
  tag,
  summary: 'Start adding a passkey',
  access: person,
  limited: true,
  body: proof,
  answers: { '200': { schema: creationOptionsAnswer, description: 'What to make the passkey with.' } },
  refusals: [...PROOF_REFUSALS, 'passkey_limit'],
})

const addPasskey = operation({
  id: 'addPasskey',
  tag,
  summary: 'Add a passkey',
  description: renewed,
  access: person,
  limited: true,
  body: { schema: newPasskeyBody, required: 'name', invalid: ['name', 'must not be empty'] },
  answers: { '201': { schema: newPasskeyAnswer, description: 'Added.', headers: ['Set-Cookie'] } },
  refusals: ['challenge_invalid', 'passkey_refused', 'passkey_exists', 'passkey_limit'],
})

const removePasskey = operation({
  id: 'removePasskey',
  tag,
  summary: 'Remove a passkey',
  description: `The proof must come from another factor. ${renewed}`,
  access: person,
  limited: true,
  parameters: { path: z.object({ id: idField('pky').meta({ description: 'Passkey id.' }) }) },
  body: proof,
  answers: { '200': { schema: okAnswer, description: 'Removed.', headers: ['Set-Cookie'] } },
  refusals: [...PROOF_REFUSALS, 'not_found', 'last_factor'],
})

const totpOptions = operation({
  id: 'startAddingTotp',
  tag,
  summary: 'Start setting up one-time codes',
  access: person,
  limited: true,
  body: proof,
  answers: { '200': { schema: totpSetUpAnswer, description: 'The seed, shown this once.' } },
  refusals: [...PROOF_REFUSALS, 'totp_exists'],
})

const addTotp = operation({
  id: 'addTotp',
  tag,
  summary: 'Confirm one-time codes',
  description: renewed,
  access: person,
  limited: true,
  body: { schema: codeBody, required: 'code', invalid: ['code', 'must be a text'] },
  answers: { '201': { schema: backupCodesAnswer, description: 'Set up.', headers: ['Set-Cookie'] } },
  refusals: ['totp_refused', 'totp_not_started', 'totp_exists'],
})

const removeTotp = operation({
  id: 'removeTotp',
  tag,
  summary: 'Remove one-time codes',
  description: `Confirmed with a passkey. ${renewed}`,
  access: person,
  limited: true,
  body: proof,
  answers: { '200': { schema: okAnswer, description: 'Removed.', headers: ['Set-Cookie'] } },
  refusals: [...PROOF_REFUSALS, 'not_found', 'last_factor'],
})

const backupCodes = operation({
  id: 'renewBackupCodes',
  tag,
  summary: 'Make new backup codes',
  description: `The old ones end. ${renewed}`,
  access: person,
  limited: true,
  body: proof,
  answers: { '201': { schema: backupCodesAnswer, description: 'The new codes.', headers: ['Set-Cookie'] } },
  refusals: [...PROOF_REFUSALS, 'method_not_enrolled'],
})

export const factorPaths: ZodOpenApiPathsObject = {
  '/api/v1/me/factors': { get: factors },
  '/api/v1/me/step-up/options': { post: stepUp },
  '/api/v1/me/passkeys/options': { post: passkeyOptions },
  '/api/v1/me/passkeys': { post: addPasskey },
  '/api/v1/me/passkeys/{id}/remove': { post: removePasskey },
  '/api/v1/me/totp/options': { post: totpOptions },
  '/api/v1/me/totp': { post: addTotp },
  '/api/v1/me/totp/remove': { post: removeTotp },
  '/api/v1/me/backup-codes': { post: backupCodes },
}
