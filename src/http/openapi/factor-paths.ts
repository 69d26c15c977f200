import { okAnswer } from '../api/shared/fields.ts'
import { idInPath, operations, PROOF_REFUSALS, SIGNED_IN, SIGNED_IN_CHANGE } from '../api/shared/operation.ts'
import { creationOptionsAnswer } from '../api/shared/proofs.ts'
import { codeBody, newPasskeyBody, proofBody, stepUpBody } from '../schemas/people.ts'
import {
  backupCodesAnswer,
  factorsAnswer,
  newPasskeyAnswer,
  stepUpAnswer,
  totpSetUpAnswer,
} from '../schemas/responses/people.ts'

const proof = {
  schema: proofBody,
  invalid: ['proof', 'must hold exactly one of passkey and totp'],
  optional: true,
} as const
const renewed = 'Every other session of the person ends; this one gets a new cookie.'

export const factorOperations = operations('Own factors', {
  'get /api/v1/me/factors': {
    id: 'listFactors',
    summary: 'My passkeys and codes',
    access: SIGNED_IN,
    limited: true,
    answers: { '200': { schema: factorsAnswer, description: 'All factors.' } },
  },
  'post /api/v1/me/step-up/options': {
    id: 'startStepUp',
    summary: 'Start confirming a change',
    description:
      'Says which factors may confirm it; the assertion counts for this operation and target only.',
    access: SIGNED_IN_CHANGE,
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
  },
  'post /api/v1/me/passkeys/options': {
    id: 'startAddingPasskey',
    summary: 'Start adding a passkey',
    access: SIGNED_IN_CHANGE,
    limited: true,
    body: proof,
    answers: { '200': { schema: creationOptionsAnswer, description: 'What to make the passkey with.' } },
    refusals: [...PROOF_REFUSALS, 'passkey_limit'],
  },
  'post /api/v1/me/passkeys': {
    id: 'addPasskey',
    summary: 'Add a passkey',
    description: renewed,
    access: SIGNED_IN_CHANGE,
    limited: true,
    body: { schema: newPasskeyBody, required: 'name', invalid: ['name', 'must not be empty'] },
    answers: { '201': { schema: newPasskeyAnswer, description: 'Added.', headers: ['Set-Cookie'] } },
    refusals: ['challenge_invalid', 'passkey_refused', 'passkey_exists', 'passkey_limit'],
  },
  'post /api/v1/me/passkeys/{id}/remove': {
    id: 'removePasskey',
    summary: 'Remove a passkey',
    description: `The proof must come from another factor. ${renewed}`,
    access: SIGNED_IN_CHANGE,
    limited: true,
    parameters: { path: idInPath('pky', 'Passkey id.') },
    body: proof,
    answers: { '200': { schema: okAnswer, description: 'Removed.', headers: ['Set-Cookie'] } },
    refusals: [...PROOF_REFUSALS, 'not_found', 'last_factor'],
  },
  'post /api/v1/me/totp/options': {
    id: 'startAddingTotp',
    summary: 'Start setting up one-time codes',
    access: SIGNED_IN_CHANGE,
    limited: true,
    body: proof,
    answers: { '200': { schema: totpSetUpAnswer, description: 'The seed, shown this once.' } },
    refusals: [...PROOF_REFUSALS, 'totp_exists'],
  },
  'post /api/v1/me/totp': {
    id: 'addTotp',
    summary: 'Confirm one-time codes',
    description: renewed,
    access: SIGNED_IN_CHANGE,
    limited: true,
    body: { schema: codeBody, required: 'code', invalid: ['code', 'must be a text'] },
    answers: { '201': { schema: backupCodesAnswer, description: 'Set up.', headers: ['Set-Cookie'] } },
    refusals: ['totp_refused', 'totp_not_started', 'totp_exists'],
  },
  'post /api/v1/me/totp/remove': {
    id: 'removeTotp',
    summary: 'Remove one-time codes',
    description: `Confirmed with a passkey. ${renewed}`,
    access: SIGNED_IN_CHANGE,
    limited: true,
    body: proof,
    answers: { '200': { schema: okAnswer, description: 'Removed.', headers: ['Set-Cookie'] } },
    refusals: [...PROOF_REFUSALS, 'not_found', 'last_factor'],
  },
  'post /api/v1/me/backup-codes': {
    id: 'renewBackupCodes',
    summary: 'Make new backup codes',
    description: `The old ones end. ${renewed}`,
    access: SIGNED_IN_CHANGE,
    limited: true,
    body: proof,
    answers: {
      '201': { schema: backupCodesAnswer, description: 'The new codes.', headers: ['Set-Cookie'] },
    },
    refusals: [...PROOF_REFUSALS, 'method_not_enrolled'],
  },
})
