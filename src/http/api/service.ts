import { z } from 'zod'
import { errorAnswer } from './shared/fields.ts'
import { operations } from './shared/operation.ts'

/** `GET /healthz`. */
const aliveAnswer = z.strictObject({ status: z.literal('ok') }).meta({ id: 'Alive' })

/** `GET /readyz`. */
const readyAnswer = z.strictObject({ status: z.literal('ready') }).meta({ id: 'Ready' })

const access = { by: 'public' } as const

export const serviceOperations = operations('Service', {
  'get /healthz': {
    id: 'isAlive',
    summary: 'Does the process answer?',
    access,
    answers: { '200': { schema: aliveAnswer, description: 'It does.' } },
  },
  'get /readyz': {
    id: 'isReady',
    summary: 'Can it do its work?',
    access,
    answers: {
      '200': { schema: readyAnswer, description: 'The store answers.' },
      '503': { schema: errorAnswer, description: 'The store does not answer: `unavailable`.' },
    },
  },
  'get /openapi.json': {
    id: 'getOpenApiDocument',
    summary: 'This document',
    description: 'Readable at `/docs`.',
    access,
    answers: {
      '200': { schema: z.looseObject({ openapi: z.string() }), description: 'OpenAPI 3.1.' },
    },
  },
})
