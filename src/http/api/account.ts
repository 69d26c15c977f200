import { z } from 'zod'
import { MOST_REASONS, REJECT_REASONS } from '../../domain/account.ts'
import { volumesOf } from '../../domain/hearing.ts'
import { type ApprovalRequest, REQUEST_STATUSES } from '../../domain/request.ts'
import type { AccountView } from '../../domain/views.ts'
import { presentQuorum, quorumField } from './decision.ts'
import type { Models } from './factors.ts'
import { presentVolumes, volumesField } from './hearing.ts'
import { policyAnswer, presentPolicy } from './policy.ts'
import {
  type Answer,
  actionField,
  approverField,
  idField,
  idPattern,
  methodField,
  namesField,
  outcomeField,
  pageOf,
  present,
  sandboxMark,
  searchedField,
  statusField,
  timeField,
} from './shared/fields.ts'
import {
  accountParameter,
  fileFormat,
  flag,
  flagParameter,
  givenName,
  pageQuery,
  searchParameter,
  text,
  timeParameter,
} from './shared/input.ts'
import { AS_FILE, FILE, operations } from './shared/operation.ts'

export const accountQuery = z.object({ account: accountParameter })

export const accountBody = z
  .object({
    name: givenName.optional(),
    names_in_channels: flag
      .optional()
      .meta({ description: 'Cards in channels name people; otherwise they show references.' }),
    volumes: volumesField.optional().meta({ description: 'For people who chose nothing themselves.' }),
    reject_reasons: z
      .array(givenName, { error: 'must be a list' })
      .max(MOST_REASONS, `must have at most ${MOST_REASONS} reasons`)
      .refine((reasons) => new Set(reasons).size === reasons.length, 'must not have a reason twice')
      .optional()
      .meta({ description: 'Reasons that approvers choose from when they reject; an empty list: none.' }),
  })
  .meta({ id: 'AccountChange' })

export const newAccountBody = z.object({ name: givenName }).meta({ id: 'NewAccount' })

const historyFilters = {
  account: accountParameter,
  status: z
    .enum(REQUEST_STATUSES, { error: `must be one of ${REQUEST_STATUSES.join(', ')}` })
    .optional()
    .meta({ description: 'Only requests in this state.' }),
  q: searchParameter(
    'Only requests whose action holds this text, in any case; or the one with this id, its own or its decision’s.',
  ),
  high_impact: flagParameter('Only requests that are high impact, or only those that are not.'),
  sandbox: flagParameter('Only dry-runs, or only live requests.'),
  key: text
    .regex(idPattern('key'), 'must be the id of an API key')
    .optional()
    .meta({ description: 'Only requests made with this API key.' }),
  person: text
    .regex(idPattern('usr'), 'must be the id of a person')
    .optional()
    .meta({ description: 'Only requests that name this person, or on which they voted.' }),
  from: timeParameter('Only requests made at that time or later.'),
  to: timeParameter('Only requests made before that time.'),
}

export const historyQuery = z.object({ ...historyFilters, ...pageQuery(50).shape })

export const historyExportQuery = z.object({ format: fileFormat, ...historyFilters })

const asker = z.strictObject({ key_name: z.string(), account_name: z.string() })

const historyDecision = z.strictObject({
  id: idField('dec'),
  decision: outcomeField,
  method: methodField,
  approver: approverField,
  delegate: approverField.optional().meta({ description: 'The delegate, if one acted for the approver.' }),
})

const historyRow = z
  .strictObject({
    id: idField('req'),
    status: statusField,
    cancelled: z.literal(true).optional(),
    action: actionField,
    high_impact: z.boolean(),
    sandbox: sandboxMark.optional(),
    requested_by: asker,
    created_at: timeField,
    expires_at: timeField,
    decided_at: timeField.optional(),
    decision: historyDecision.optional(),
    quorum: quorumField,
  })
  .meta({ id: 'HistoryRow' })

export const historyAnswer = pageOf(historyRow)
  .extend({ searched_to: searchedField, names: namesField })
  .meta({ id: 'History' })

/** The most requests that can be withdrawn in one call. */
const MOST_WITHDRAWN = 100

export const withdrawalBody = z
  .object({
    ids: z
      .array(text.regex(idPattern('req'), 'must be the id of a request'), { error: 'must be a list' })
      .min(1, 'must name at least one request')
      .max(MOST_WITHDRAWN, `must name at most ${MOST_WITHDRAWN} requests`),
  })
  .meta({ id: 'Withdrawal' })

export const withdrawnAnswer = z
  .strictObject({
    withdrawn: z.array(idField('req')).meta({ description: 'The requests that were still pending.' }),
  })
  .meta({ id: 'Withdrawn' })

const quota = z.strictObject({
  limit: z.int().min(0).meta({ description: 'Requests a calendar month (UTC), dry-runs too; 0: no limit.' }),
  used: z.int().min(0),
  month: z.string().regex(/^\d{4}-\d{2}$/),
  resets_at: timeField,
})

/** `GET` and `PATCH /api/v1/account`. */
export const accountAnswer = z
  .strictObject({
    id: idField('acc'),
    name: z.string(),
    role: z.enum(['owner', 'approver', 'auditor']).meta({ description: 'The role of the signed-in person.' }),
    owner: z.strictObject({
      id: idField('usr'),
      name: z.string(),
      email: z.string(),
      approver: approverField,
    }),
    created_at: timeField,
    names_in_channels: z.boolean().meta({ description: 'True: cards in channels name people.' }),
    volumes: volumesField,
    reject_reasons: z.array(z.string()),
    quota,
    policy: policyAnswer.optional().meta({ description: 'For the owner alone.' }),
  })
  .meta({ id: 'Account' })

/** Presents an account, its quota and, for its owner, its policy. */
export function presentAccount(
  { account, role, owner, used, month, policy }: AccountView,
  models: Models,
): Answer<typeof accountAnswer> {
  return present(accountAnswer, account, {
    role,
    owner: { id: owner.id, name: owner.name, email: owner.email, approver: owner.approver },
    names_in_channels: account.names_in_channels === true,
    volumes: presentVolumes(volumesOf(undefined, account)),
    reject_reasons: [...(account.reject_reasons ?? REJECT_REASONS)],
    quota: {
      limit: account.monthly_quota,
      used,
      month: month.name,
      resets_at: month.ends.toISOString(),
    },
    policy: policy && presentPolicy(policy, models),
  })
}

/** Presents a request as the history lists it: without context and receipts. */
export function presentHistoryRow(request: ApprovalRequest): Answer<typeof historyRow> {
  const { decision } = request
  return present(historyRow, request, {
    sandbox: request.sandbox || undefined,
    requested_by: present(asker, request.requested_by, {}),
    decided_at: decision?.decided_at.toISOString(),
    decision: decision && present(historyDecision, decision, {}),
    quorum: presentQuorum(request),
  })
}

/** Presents a request in a file: as in the list, with names beside the references. */
export function presentExportedRow(request: ApprovalRequest, names: Record<string, string>) {
  const { decision } = request
  const nameOf = (reference: string | undefined) => (reference === undefined ? undefined : names[reference])
  return {
    ...presentHistoryRow(request),
    approver_name: decision?.method === 'sandbox' ? undefined : nameOf(decision?.approver),
    delegate_name: nameOf(decision?.delegate),
    comment: decision?.comment ?? undefined,
  }
}

type ExportedRow = ReturnType<typeof presentExportedRow>

/** The columns of the CSV file of requests. */
export const EXPORT_COLUMNS = [
  ...['id', 'status', 'cancelled', 'action', 'high_impact', 'sandbox', 'key_name', 'account_name'],
  ...['created_at', 'expires_at', 'decided_at', 'decision_id', 'decision', 'method'],
  ...['approver', 'approver_name', 'delegate', 'delegate_name', 'needed', 'approved'],
  'comment',
]

/** Returns the cells of a row, in the order of `EXPORT_COLUMNS`. */
export function exportCells(row: ExportedRow): (string | number)[] {
  const { decision, requested_by, quorum } = row
  return [
    ...[row.id, row.status, String(row.cancelled === true), row.action, String(row.high_impact)],
    ...[String(row.sandbox === true), requested_by.key_name, requested_by.account_name],
    ...[row.created_at, row.expires_at, row.decided_at ?? '', decision?.id ?? '', decision?.decision ?? ''],
    ...[decision?.method ?? '', decision?.approver ?? '', row.approver_name ?? ''],
    ...[decision?.delegate ?? '', row.delegate_name ?? '', quorum.needed, quorum.approved],
    row.comment ?? '',
  ]
}

export const accountOperations = operations('Account', {
  'get /api/v1/account': {
    id: 'getAccount',
    summary: 'See an account and its quota',
    description: 'Your own, or one of which you are a member; its owner also sees the policy.',
    parameters: { query: accountQuery },
    answers: { '200': { schema: accountAnswer, description: 'The account.' } },
    refusals: ['not_found'],
  },
  'post /api/v1/account': {
    id: 'makeAccount',
    summary: 'Make an account of my own',
    description: 'For people who were invited into the account of another owner and have none yet.',
    body: { schema: newAccountBody },
    answers: { '201': { schema: accountAnswer, description: 'The new account.' } },
    refusals: ['name required', 'own_account_exists'],
  },
  'patch /api/v1/account': {
    id: 'changeAccount',
    summary: 'Change your account: its name, names in channels',
    description:
      'At least one field. Approvers read the name on requests made from now on; cards in channels follow `names_in_channels` at their next change.',
    body: { schema: accountBody },
    answers: { '200': { schema: accountAnswer, description: 'The account.' } },
    refusals: ['name required', 'not_found'],
  },
  'get /api/v1/account/requests': {
    id: 'listHistory',
    summary: 'List the requests of an account, newest first',
    description:
      'Owners and auditors see all of them, approvers those that name them or on which they voted. A page can hold fewer than `limit` and not be the last one. Reading decides a dry-run that is due.',
    parameters: { query: historyQuery },
    answers: { '200': { schema: historyAnswer, description: 'One page.' } },
    refusals: ['not_found'],
  },
  'post /api/v1/account/requests/withdraw': {
    id: 'withdrawRequests',
    summary: 'Withdraw requests of my account that are pending',
    description: `For its owner: requests of a stolen key, or those that a removed person could still decide. 1 to ${MOST_WITHDRAWN} requests; unknown, foreign and ended ones are left as they are.`,
    body: {
      schema: withdrawalBody,
    },
    answers: { '200': { schema: withdrawnAnswer, description: 'The withdrawn requests.' } },
    refusals: ['no_own_account'],
  },
  'get /api/v1/account/requests/export': {
    id: 'exportHistory',
    summary: 'Download the requests of an account as a file',
    description: `All entries that the list would show with these filters. ${AS_FILE}`,
    parameters: { query: historyExportQuery },
    ...FILE,
  },
})
