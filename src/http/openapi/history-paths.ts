import { z } from 'zod'
import { BAD_LIMIT, operations, SIGNED_IN, SIGNED_IN_CHANGE } from '../api/shared/operation.ts'
import { accountNameBody, accountQuery, historyQuery } from '../schemas/account-view.ts'
import { auditExportQuery, auditQuery } from '../schemas/audit.ts'
import { accountAnswer, historyAnswer } from '../schemas/responses/account-view.ts'
import { auditListAnswer } from '../schemas/responses/audit.ts'

/** Looking at an account and back on what happened in it. */
export const historyOperations = operations('Account', {
  'get /api/v1/account': {
    id: 'getAccount',
    summary: 'See an account and its quota',
    description: 'Your own, or one of which you are a member; its owner also sees the policy.',
    access: SIGNED_IN,
    limited: true,
    parameters: { query: accountQuery },
    answers: { '200': { schema: accountAnswer, description: 'The account.' } },
    refusals: ['not_found'],
  },
  'patch /api/v1/account': {
    id: 'renameAccount',
    summary: 'Give your account another name',
    description: 'Approvers read it on requests made from now on.',
    access: SIGNED_IN_CHANGE,
    limited: true,
    body: { schema: accountNameBody, required: 'name', invalid: ['name', 'must not exceed 80 characters'] },
    answers: { '200': { schema: accountAnswer, description: 'The account.' } },
    refusals: ['not_found'],
  },
  'get /api/v1/account/requests': {
    id: 'listHistory',
    summary: 'Look through the requests of an account, newest first',
    description:
      'Owners and auditors see all of them, approvers those that name them or on which they voted. A page can hold fewer than `limit` and not be the last one. Reading makes the decision of a dry-run that is due.',
    access: SIGNED_IN,
    limited: true,
    parameters: { query: historyQuery },
    answers: { '200': { schema: historyAnswer, description: 'One page.' } },
    refusals: [BAD_LIMIT, 'not_found'],
  },
  'get /api/v1/account/audit': {
    id: 'listAudit',
    summary: 'List what happened in the account, newest first',
    description:
      'The audit trail, as far as it concerns this account. Owners and auditors see all of it, approvers what concerns requests that name them, and themselves. A page can hold fewer than `limit` and not be the last one. Entries stand in it for good, each linked to the one before, so that a later change shows; the operator checks the whole with `countersign audit check`.',
    access: SIGNED_IN,
    limited: true,
    parameters: { query: auditQuery },
    answers: { '200': { schema: auditListAnswer, description: 'One page.' } },
    refusals: [BAD_LIMIT, 'not_found'],
  },
  'get /api/v1/account/audit/export': {
    id: 'exportAudit',
    summary: 'Take the audit trail as a file',
    description:
      'Everything the list would show with these filters, as it is being read: a file that was cut off has no proper end. `seq` and `hash` of any entry are what `countersign audit check --expect` takes. In CSV, a cell that a spreadsheet would take for a formula begins with an apostrophe. Two files at a time a person.',
    access: SIGNED_IN,
    limited: true,
    parameters: { query: auditExportQuery },
    answers: {
      '200': {
        schema: z.string(),
        description: 'The file, as NDJSON or, with `format=csv`, as `text/csv`.',
        type: 'application/x-ndjson',
      },
    },
    refusals: [
      { code: 'format required' },
      { code: 'invalid_field', with: { field: 'format', detail: 'must be ndjson or csv' } },
      'not_found',
      'too_many_waits',
    ],
  },
})
