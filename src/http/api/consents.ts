import { z } from 'zod'
import { SCOPES } from '../../domain/api-key.ts'
import { type Bootstrap, WRONG_CODES } from '../../domain/bootstrap.ts'
import type { ConsentReview } from '../../domain/views.ts'
import {
  type Answer,
  approverField,
  idField,
  outcomeField,
  pageOf,
  present,
  statusField,
  timeField,
} from './shared/fields.ts'
import { outcome, text } from './shared/input.ts'
import { DECISION_PROOF_REFUSALS, idInPath, operations } from './shared/operation.ts'
import { provenBy, requestOptions } from './shared/proofs.ts'

/** `POST /api/v1/account/bootstrap/:id/decision/options`, and the decision itself without its proof. */
export const consentBody = z
  .object({
    decision: outcome,
    code: text.max(64, 'is too long').optional().meta({
      description:
        'The matching code that the caller shows. An approval needs it; the third wrong one rejects.',
      example: 'BDWP-HQPK',
    }),
  })
  .meta({ id: 'ConsentRequest' })

const requester = z.strictObject({
  address: z.string().meta({ example: '203.0.113.7' }),
  user_agent: z
    .string()
    .meta({ description: 'The software, as stated by the caller.', example: 'curl/8.5.0' }),
})

const waiting = z.strictObject({
  id: idField('bst'),
  client_name: z
    .string()
    .meta({ description: 'As stated by the caller, unverified.', example: 'Release agent' }),
  requester,
  scopes: z.array(z.enum(SCOPES)),
  created_at: timeField,
  expires_at: timeField,
})

export const waitingConsentsAnswer = pageOf(waiting.meta({ id: 'WaitingConsent' })).meta({
  id: 'WaitingConsents',
})

const given = z.strictObject({
  decision: outcomeField,
  method: z.enum(['passkey', 'totp']),
  at: timeField,
})

const collection = z.strictObject({
  at: timeField,
  address: z.string().optional(),
  key_id: idField('key').optional(),
})

export const consentAnswer = waiting
  .extend({
    status: statusField,
    server_time: timeField,
    tries_left: z.int().meta({ description: 'Wrong matching codes left before it is rejected.' }),
    methods: z.array(z.enum(['passkey', 'totp'])),
    consent: given.optional(),
    collect_by: timeField
      .optional()
      .meta({ description: 'After consent: a key that is not collected by then is never made.' }),
    collected: collection.optional().meta({ description: 'Time and network address of the collection.' }),
  })
  .meta({ id: 'Consent' })

const consentOptionsAnswer = z
  .strictObject({
    intent: z
      .strictObject({
        typ: z.literal('human-approval/bootstrap/v1'),
        aud: z.string(),
        bst: idField('bst'),
        decision: outcomeField,
        approver: approverField,
        client_name: z.string(),
        scopes: z.string(),
        code: z.string().nullable().meta({ description: 'The matching code; null when rejecting.' }),
        requested_at: timeField,
        exp: z.int(),
        salt: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
      })
      .meta({
        id: 'ConsentIntent',
        description: 'The statement that the owner consents to. Compare it with what you show.',
      }),
    options: requestOptions,
  })
  .meta({
    id: 'ConsentOptions',
    description: '`options.challenge` is the base64url SHA-256 of the RFC 8785 JSON of `intent`.',
  })

export const consentedAnswer = z
  .strictObject({ id: idField('bst'), status: statusField })
  .meta({ id: 'Consented' })

/** Presents a bootstrap that waits for consent. Never the matching code: the owner must get it from the caller. */
export function presentWaitingConsent(bootstrap: Bootstrap): Answer<typeof waiting> {
  return present(waiting, bootstrap, { requester: present(requester, bootstrap.requester, {}) })
}

/** Presents everything that the owner sees before and after consent. */
export function presentConsent({
  bootstrap,
  methods,
  serverTime,
}: ConsentReview): Answer<typeof consentAnswer> {
  const { consent, collected } = bootstrap
  return present(consentAnswer, bootstrap, {
    requester: present(requester, bootstrap.requester, {}),
    server_time: serverTime.toISOString(),
    tries_left: WRONG_CODES - bootstrap.wrong_codes,
    methods,
    consent: consent && present(given, consent, {}),
    collected: collected && present(collection, collected, { key_id: bootstrap.key_id }),
  })
}

const path = idInPath('bst', 'Id of the consent.')

const provenConsent = consentBody.extend(provenBy).meta({ id: 'ProvenConsent' })

export const consentOperations = operations('Bootstrap', {
  'get /api/v1/account/bootstrap': {
    id: 'listWaitingConsents',
    summary: 'List the agents that ask for an API key, oldest first',
    limited: false,
    answers: { '200': { schema: waitingConsentsAnswer, description: 'At most five.' } },
  },
  'get /api/v1/account/bootstrap/{id}': {
    id: 'reviewConsent',
    summary: 'Get a request for an API key',
    description: 'For the owner of the account. The matching code is not in it: the caller shows it.',
    limited: false,
    parameters: { path },
    answers: { '200': { schema: consentAnswer, description: 'The request.' } },
    refusals: ['not_found'],
  },
  'post /api/v1/account/bootstrap/{id}/decision/options': {
    id: 'startConsent',
    summary: 'Start consenting by passkey',
    description:
      'The challenge commits to the name, the scopes and the matching code. Not needed for one-time codes.',
    parameters: { path },
    body: {
      schema: consentBody,
    },
    answers: {
      '200': { schema: consentOptionsAnswer, description: 'The challenge to confirm with the passkey.' },
    },
    refusals: [
      'code required',
      'wrong_matching_code',
      'method_not_enrolled',
      'not_found',
      'not_pending',
      'key_limit',
    ],
  },
  'post /api/v1/account/bootstrap/{id}/decision': {
    id: 'giveConsent',
    summary: 'Consent or refuse',
    description: 'By the owner of the account with a fresh proof of presence; never by an API key.',
    parameters: { path },
    body: {
      schema: provenConsent,
    },
    answers: { '200': { schema: consentedAnswer, description: 'Recorded.' } },
    refusals: [
      'code required',
      'wrong_matching_code',
      'proof_required',
      'challenge_invalid',
      'method_not_enrolled',
      ...DECISION_PROOF_REFUSALS,
      'not_found',
      'not_pending',
      'key_limit',
    ],
  },
})
