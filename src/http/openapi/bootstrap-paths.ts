import { z } from 'zod'
import { idInPath, operations, SIGNED_IN, SIGNED_IN_CHANGE } from '../api/shared/operation.ts'
import { authenticationSchema } from '../api/shared/proofs.ts'
import { bootstrapBody, consentBody } from '../schemas/bootstrap.ts'
import {
  bootstrapStatusAnswer,
  consentAnswer,
  consentedAnswer,
  consentOptionsAnswer,
  startedAnswer,
  waitingConsentsAnswer,
} from '../schemas/responses/bootstrap.ts'
import { verifierHeader } from './headers.ts'

const anybody = { by: 'nobody in particular' } as const
const path = idInPath('bst', 'Id of the consent.')
const notPending = { code: 'not_pending', with: { status: 'expired' } } as const
const wrongCode = {
  code: 'wrong_matching_code',
  with: { status: 'pending', detail: 'This is not the code of this request. You have 2 more tries; …' },
} as const

const provenConsent = consentBody
  .extend({
    passkey: authenticationSchema.optional().meta({ description: 'The assertion over `options`.' }),
    totp: z.string().optional().meta({ description: 'The current one-time code.', example: '123456' }),
  })
  .meta({ id: 'ProvenConsent', description: 'Send exactly one of `passkey` and `totp`.' })

export const bootstrapOperations = operations('Bootstrap', {
  'post /api/v1/bootstrap': {
    id: 'startBootstrap',
    summary: 'Ask the owner of an account for an API key',
    description:
      'The account must exist, but the answer does not tell whether it does. The owner compares the matching code in `message` with what you show them, and consents with a passkey or a one-time code. At most 5 an hour for one e-mail address, of which 3 wait at a time: a fourth ends the oldest.',
    access: anybody,
    limited: true,
    body: {
      schema: bootstrapBody,
      required: 'email',
      invalid: ['client_name', 'must be one line of printable characters'],
      example: { email: 'you@example.com', client_name: 'Release agent' },
    },
    answers: { '202': { schema: startedAnswer, description: 'Asked; poll the status.' } },
  },
  'get /api/v1/bootstrap/{id}/status': {
    id: 'getBootstrapStatus',
    summary: 'Has the owner consented?',
    description:
      'Poll every 3 seconds. The first answer after approval holds the key and makes it; no other one does, but for a caller with a `code_challenge`: within 60 seconds, and while the key was never used, it gets another one, and the first stops working.',
    access: anybody,
    limited: true,
    parameters: {
      path: z.object({
        id: z.string().meta({
          description: 'The `bootstrap_id`.',
          example: 'boot_b3JhY2xlLW9mLWRlbHBoaS1rbm93cy10aGUtYW5zd2Vy',
        }),
      }),
      header: verifierHeader,
    },
    answers: { '200': { schema: bootstrapStatusAnswer, description: 'Where it stands.' } },
    refusals: ['code_verifier_refused', 'not_found', 'slow_down'],
  },
  'get /api/v1/account/bootstrap': {
    id: 'listWaitingConsents',
    summary: 'Who asks for an API key now, oldest first',
    access: SIGNED_IN,
    answers: { '200': { schema: waitingConsentsAnswer, description: 'At most three.' } },
  },
  'get /api/v1/account/bootstrap/{id}': {
    id: 'reviewConsent',
    summary: 'See who asks for an API key',
    description: 'For the owner of the account. The matching code is not in it: the caller shows it.',
    access: SIGNED_IN,
    parameters: { path },
    answers: { '200': { schema: consentAnswer, description: 'The request.' } },
    refusals: ['not_found'],
  },
  'post /api/v1/account/bootstrap/{id}/decision/options': {
    id: 'startConsent',
    summary: 'Start consenting by passkey',
    description:
      'The challenge commits to the name, the scopes and the matching code. Not needed for one-time codes.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    parameters: { path },
    body: {
      schema: consentBody,
      required: 'decision',
      invalid: ['code', 'must be eight letters, like BDWP-HQPK'],
    },
    answers: { '200': { schema: consentOptionsAnswer, description: 'What to confirm with the passkey.' } },
    refusals: [
      { code: 'code required' },
      wrongCode,
      'method_not_enrolled',
      'not_found',
      notPending,
      'key_limit',
    ],
  },
  'post /api/v1/account/bootstrap/{id}/decision': {
    id: 'giveConsent',
    summary: 'Consent or refuse',
    description: 'By the owner of the account with a fresh proof of presence; never by an API key.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    parameters: { path },
    body: {
      schema: provenConsent,
      required: 'decision',
      invalid: ['passkey', 'must not be sent together with totp'],
    },
    answers: { '200': { schema: consentedAnswer, description: 'Recorded.' } },
    refusals: [
      { code: 'code required' },
      wrongCode,
      'proof_required',
      'challenge_invalid',
      'method_not_enrolled',
      'passkey_refused',
      'totp_refused',
      'totp_disabled',
      'totp_locked',
      'not_found',
      notPending,
      'key_limit',
    ],
  },
})
