import { idInPath, operations, PROOF_REFUSALS, SIGNED_IN, SIGNED_IN_CHANGE } from '../api/shared/operation.ts'
import { newKeyBody } from '../schemas/account.ts'
import { changeKeyBody } from '../schemas/change-key.ts'
import {
  changedKeyAnswer,
  createdKeyAnswer,
  keyListAnswer,
  revokedKeyAnswer,
  webhookSecretAnswer,
} from '../schemas/responses/account.ts'

export const accountOperations = operations('Account', {
  'get /api/v1/account/api-keys': {
    id: 'listApiKeys',
    summary: 'List API keys',
    access: SIGNED_IN,
    answers: {
      '200': { schema: keyListAnswer, description: 'All keys of the account, revoked ones too.' },
    },
  },
  'post /api/v1/account/api-keys': {
    id: 'createApiKey',
    summary: 'Make an API key',
    description:
      'To rotate a key, make a new one, switch over, revoke the old one: both work meanwhile. Without `scopes` the key gets all three. An account has at most 100 keys that are not revoked.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    body: { schema: newKeyBody, required: 'name', invalid: ['name', 'must not exceed 80 characters'] },
    answers: { '201': { schema: createdKeyAnswer, description: 'The key, shown this once.' } },
    refusals: ['key_limit'],
  },
  'patch /api/v1/account/api-keys/{id}': {
    id: 'changeApiKey',
    summary: 'Change an API key',
    description:
      'From its next request on. Another `policy` or `source_control` needs a proof (step-up `key.change`, target: the key id); a name does not. `policy` narrows that of the account: of its approvers those named, the larger quorum, and every demand of either. With a sandbox key nobody is asked, so approvers and quorum have no effect there; its requests do show as high impact.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    parameters: { path: idInPath('key', 'Key id.') },
    body: {
      schema: changeKeyBody,
      invalid: ['policy.approvers', 'must be among the approvers of the account'],
      optional: true,
    },
    answers: { '200': { schema: changedKeyAnswer, description: 'As it is now.' } },
    refusals: [...PROOF_REFUSALS, 'not_found', 'no_eligible_approver'],
  },
  'delete /api/v1/account/api-keys/{id}': {
    id: 'revokeApiKey',
    summary: 'Revoke an API key',
    description: 'At once and for ever: requests that use it, open waits included, get 401.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    parameters: { path: idInPath('key', 'Key id.') },
    answers: { '200': { schema: revokedKeyAnswer, description: 'Revoked.' } },
    refusals: ['not_found'],
  },
  'get /api/v1/account/webhook-secret': {
    id: 'getWebhookSecret',
    summary: 'Read the callback signing secrets',
    description:
      'With an API key: the secret of this key. With a session: those of all keys of the account that are not revoked. Counted by API key only.',
    access: { by: 'key or session' },
    answers: { '200': { schema: webhookSecretAnswer, description: 'The secret, or the secrets.' } },
    refusals: ['rate limit exceeded'],
  },
})
