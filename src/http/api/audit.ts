import { z } from 'zod'
import { AUDIT_TYPES, type AuditEntry, type AuditRecord } from '../../domain/audit.ts'
import { type Answer, hexField, idField, pageOf, present, searchedField, timeField } from './shared/fields.ts'
import {
  accountParameter,
  fileFormat,
  pageQuery,
  searchParameter,
  text,
  timeParameter,
} from './shared/input.ts'
import { AS_FILE, FILE, operations } from './shared/operation.ts'

const auditType = z
  .enum(AUDIT_TYPES, { error: 'must be a type of audit entry, such as approval.approved' })
  .meta({ id: 'AuditType' })

const filters = {
  account: accountParameter,
  type: auditType.optional().meta({ description: 'Only entries of this type.' }),
  subject: text.min(1, 'must not be empty').max(64, 'must not exceed 64 characters').optional().meta({
    description:
      'Only entries about this request, key, person, session, webhook or delivery; people and keys also by name.',
  }),
  key: text.min(1, 'must not be empty').max(200, 'must not exceed 200 characters').optional().meta({
    description:
      'Only entries about this API key, by id or name, and about the requests it made that the service still has.',
  }),
  actor: text.min(1, 'must not be empty').max(200, 'must not exceed 200 characters').optional().meta({
    description:
      'Only entries by this person, key or identity, or by this kind of actor; people and keys also by name.',
  }),
  from: timeParameter('Only entries of that time and later. The entries are then sorted by time.'),
  to: timeParameter('Only entries before that time.'),
  q: searchParameter(
    'Only entries that hold this text, in any case: type, actor, subject and details, people and keys also by name.',
  ),
}

export const auditQuery = z.object({ ...filters, ...pageQuery(50).shape })

export const auditExportQuery = z.object({
  format: fileFormat,
  ...filters,
})

const actor = z
  .strictObject({
    kind: z.enum(['api_key', 'internal', 'user', 'chat', 'cli', 'service', 'public']).meta({
      description:
        'An API key, the internal token, a person, an identity on a chat platform, the command line, the service itself, or the public (verification of a receipt).',
    }),
    id: z.string().optional().meta({ description: 'Of the key, the person or the identity.' }),
    address: z.string().optional().meta({ description: 'The network address of the request.' }),
  })
  .meta({ id: 'AuditActor' })

const auditAnswer = z
  .strictObject({
    seq: z.int().min(1).meta({ description: 'Its number in the trail of the whole service.' }),
    id: idField('evt'),
    type: auditType,
    at: timeField,
    actor,
    subject: z.string().meta({
      description: 'The subject: the id of a request, key, person, session, webhook or delivery.',
      example: 'req_7h3k9m2p5q8r1s4t6v0w2x5y8z',
    }),
    detail: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
      .meta({ example: { decision: 'approved', method: 'passkey' } }),
    hash: hexField.meta({
      description:
        'Hash of this record, which covers every record before it: with `seq` it is the argument of `countersign audit check --expect`.',
    }),
  })
  .meta({ id: 'AuditRecord' })

export const auditListAnswer = pageOf(auditAnswer)
  .extend({
    searched_to: searchedField,
    names: z.record(z.string(), z.string()).meta({
      description:
        'Current names of the people and API keys of these entries, by id. The trail itself stores ids.',
      example: { usr_7h3k9m2p5q8r1s4t6v0w2x5y8z: 'Ana Pereira' },
    }),
    actions: z.record(z.string(), z.string()).meta({
      description:
        'The first 200 characters of the actions, by id, of the requests that these entries are about, as their callers wrote them. A request that the person may not read is missing.',
      example: { req_7h3k9m2p5q8r1s4t6v0w2x5y8z: 'Delete the staging database' },
    }),
  })
  .meta({ id: 'AuditList' })

/** Presents a record to people of the account. Its salt stays inside: with the salt, an erased entry could be guessed. */
export function presentAudit({ seq, hash }: AuditRecord, entry: AuditEntry): Answer<typeof auditAnswer> {
  const by = { id: undefined, address: undefined, ...entry.actor }
  return present(auditAnswer, entry, {
    seq,
    id: entry.eid,
    actor: present(actor, by, {}),
    detail: entry.detail ?? {},
    hash,
  })
}

/** A record in a file: as in the list, with what the list says beside its records. */
type ExportedAudit = Answer<typeof auditAnswer> & {
  actor_name: string | undefined
  action: string | undefined
  subject_name: string | undefined
}

/** Presents a record in a file, with those names and actions that the reader may know, by id. */
export function presentExportedAudit(
  record: AuditRecord,
  entry: AuditEntry,
  names: Record<string, string>,
  actions: Record<string, string>,
): ExportedAudit {
  const said = presentAudit(record, entry)
  const [actor_name, subject_name] = [names[said.actor.id ?? ''], names[said.subject]]
  return { ...said, actor_name, action: actions[said.subject], subject_name }
}

/** The columns of the CSV file of the trail. */
export const AUDIT_COLUMNS = [
  ...['seq', 'id', 'type', 'at', 'actor_kind', 'actor_id', 'actor_address'],
  ...['subject', 'detail', 'hash', 'actor_name', 'action', 'subject_name'],
]

/** Returns the cells of a record, in the order of `AUDIT_COLUMNS`. */
export function auditCells(record: ExportedAudit): (string | number)[] {
  const { seq, id, type, at, actor, subject, detail, hash } = record
  const { actor_name = '', action = '', subject_name = '' } = record
  const { kind, id: actorId = '', address = '' } = actor
  return [
    seq,
    id,
    type,
    at,
    kind,
    actorId,
    address,
    subject,
    JSON.stringify(detail),
    hash,
    actor_name,
    action,
    subject_name,
  ]
}

export const auditOperations = operations('Account', {
  'get /api/v1/account/audit': {
    id: 'listAudit',
    summary: 'List the audit trail of the account, newest first',
    description:
      'The audit trail, as far as it concerns this account. Owners and auditors see all of it, approvers only entries about themselves and about requests that name them. A page can hold fewer than `limit` and not be the last one. Entries are never removed. Each is linked to the one before, so that a later change shows; the operator checks the whole trail with `countersign audit check`.',
    parameters: { query: auditQuery },
    answers: { '200': { schema: auditListAnswer, description: 'One page.' } },
    refusals: ['not_found'],
  },
  'get /api/v1/account/audit/export': {
    id: 'exportAudit',
    summary: 'Download the audit trail as a file',
    description: `All entries that the list would show with these filters, up to the moment of reading. \`seq\` and \`hash\` of any entry are the argument of \`countersign audit check --expect\`. ${AS_FILE}`,
    parameters: { query: auditExportQuery },
    ...FILE,
  },
})
