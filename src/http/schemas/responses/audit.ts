import { z } from 'zod'
import { AUDIT_TYPES } from '../../../domain/audit.ts'
import { idField, pageOf, timeField } from '../../api/shared/fields.ts'

const actor = z
  .strictObject({
    kind: z.enum(['api_key', 'internal', 'user', 'chat', 'cli', 'service', 'public']).meta({
      description:
        'An API key, the internal token, a person, an identity on a chat platform, the command line, the service by itself, or anybody (public verification).',
    }),
    id: z.string().optional().meta({ description: 'Of the key, the person or the identity.' }),
    address: z.string().optional().meta({ description: 'Where the request came from.' }),
  })
  .meta({ id: 'AuditActor' })

const auditAnswer = z
  .strictObject({
    seq: z.int().min(1).meta({ description: 'Its number in the trail of the whole service.' }),
    id: idField('evt'),
    type: z.enum(AUDIT_TYPES),
    at: timeField,
    actor,
    subject: z.string().meta({
      description: 'What it is about: the id of a request, key, person, session, webhook or delivery.',
      example: 'req_7h3k9m2p5q8r1s4t6v0w2x5y8z',
    }),
    detail: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
      .meta({ example: { decision: 'approved', method: 'passkey' } }),
    hash: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .meta({
        description:
          'Hash of this record, which covers every record before it: with `seq` it is what `countersign audit check --expect` takes.',
      }),
  })
  .meta({ id: 'AuditRecord' })

/** `GET /api/v1/account/audit`. */
export const auditListAnswer = pageOf(auditAnswer)
  .extend({
    names: z.record(z.string(), z.string()).meta({
      description:
        'What the people and API keys of these entries are called now, by id. The trail itself keeps ids.',
      example: { usr_7h3k9m2p5q8r1s4t6v0w2x5y8z: 'Ana Pereira' },
    }),
  })
  .meta({ id: 'AuditList' })
