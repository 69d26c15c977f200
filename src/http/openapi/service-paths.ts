import { z } from 'zod'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { errorAnswer } from '../schemas/responses/error.ts'
import { aliveAnswer, readyAnswer } from '../schemas/responses/health.ts'
import { operation } from './operation.ts'

const tag = 'Service'
const access = { by: 'nobody in particular' } as const

const alive = operation({
  id: 'isAlive',
  tag,
  summary: 'Does the process answer?',
  access,
  answers: { '200': { schema: aliveAnswer, description: 'It does.' } },
})

const ready = operation({
  id: 'isReady',
  tag,
  summary: 'Can it do its work?',
  access,
  answers: {
    '200': { schema: readyAnswer, description: 'The store answers.' },
    '503': { schema: errorAnswer, description: 'The store does not answer: `unavailable`.' },
  },
})

const document = operation({
  id: 'getOpenApiDocument',
  tag,
  summary: 'This document',
  description: 'Readable at `/docs`.',
  access,
  answers: {
    '200': { schema: z.looseObject({ openapi: z.string() }), description: 'OpenAPI 3.1.' },
  },
})

export const servicePaths: ZodOpenApiPathsObject = {
  '/healthz': { get: alive },
  '/readyz': { get: ready },
  '/openapi.json': { get: document },
}
