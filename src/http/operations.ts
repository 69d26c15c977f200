import { z } from 'zod'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { accountOperations } from './api/account.ts'
import { apiKeyOperations } from './api/api-keys.ts'
import { approvalOperations } from './api/approvals.ts'
import { createOperations } from './api/approvals-create.ts'
import { auditOperations } from './api/audit.ts'
import { batchOperations } from './api/batch-decisions.ts'
import { bootstrapOperations } from './api/bootstrap.ts'
import { chatOperations } from './api/chat.ts'
import { consentOperations } from './api/consents.ts'
import { decisionOperations } from './api/decisions.ts'
import { deliveryOperations } from './api/deliveries.ts'
import { enrollmentOperations } from './api/enrollment.ts'
import { factorOperations } from './api/factors.ts'
import { hearingOperations } from './api/hearing.ts'
import { inboxOperations } from './api/inbox.ts'
import { memberOperations, membershipOperations, recoveryOperations } from './api/members.ts'
import { overviewOperations } from './api/overview.ts'
import { policyOperations } from './api/policy.ts'
import { profileOperations } from './api/profile.ts'
import { pushOperations } from './api/push.ts'
import { receiptOperations } from './api/receipts.ts'
import { ownSessionOperations, sessionOperations } from './api/session.ts'
import { operations } from './api/shared/operation.ts'
import { webhookOperations } from './api/webhooks.ts'

/** `GET /healthz`. */
const aliveAnswer = z
  .strictObject({
    status: z.literal('ok'),
    version: z.string().meta({ description: 'The version of the service.' }),
    commit: z.string().meta({ description: 'The commit it was built from, or `unknown`.' }),
  })
  .meta({ id: 'Alive' })

/** `GET /readyz`. */
const readyAnswer = z.strictObject({ status: z.literal('ready') }).meta({ id: 'Ready' })

const open = { access: { by: [] }, limited: false } as const

const serviceOperations = operations('Service', {
  'get /healthz': {
    id: 'isAlive',
    summary: 'Liveness check',
    ...open,
    answers: { '200': { schema: aliveAnswer, description: 'The process is alive.' } },
  },
  'get /readyz': {
    id: 'isReady',
    summary: 'Readiness check',
    ...open,
    answers: { '200': { schema: readyAnswer, description: 'The store answers.' } },
    refusals: ['storage_unavailable'],
  },
  'get /openapi.json': {
    id: 'getOpenApiDocument',
    summary: 'This document',
    description: 'Readable at `/docs`.',
    ...open,
    answers: {
      '200': { schema: z.looseObject({ openapi: z.string() }), description: 'OpenAPI 3.1.' },
    },
  },
})

/** All operations, with the schemas of their requests and answers. */
export const PATHS: ZodOpenApiPathsObject = {
  ...createOperations,
  ...approvalOperations,
  ...receiptOperations,
  ...inboxOperations,
  ...decisionOperations,
  ...batchOperations,
  ...bootstrapOperations,
  ...consentOperations,
  ...apiKeyOperations,
  ...accountOperations,
  ...overviewOperations,
  ...auditOperations,
  ...memberOperations,
  ...policyOperations,
  ...membershipOperations,
  ...recoveryOperations,
  ...webhookOperations,
  ...deliveryOperations,
  ...sessionOperations,
  ...ownSessionOperations,
  ...enrollmentOperations,
  ...factorOperations,
  ...profileOperations,
  ...chatOperations,
  ...pushOperations,
  ...hearingOperations,
  ...serviceOperations,
}
