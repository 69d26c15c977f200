import type { z } from 'zod'
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject, ZodOpenApiResponseObject } from 'zod-openapi'
import type { RefusalCode } from '../../domain/errors.ts'
import { errorAnswer } from '../schemas/responses/error.ts'
import { type HeaderName, headers, RATE_LIMIT_HEADERS } from './headers.ts'
import { type DocumentedRefusal, refusalResponses } from './refusal-responses.ts'
import { type Access, accessRefusals, securityOf } from './security.ts'

/** One answer that is no refusal. */
interface DocumentedAnswer {
  /** Missing: the answer has no body. */
  schema?: z.ZodType
  description: string
  headers?: readonly HeaderName[]
  type?: string
  examples?: Record<string, { value: unknown }>
}

/** An operation as it is written down; everything that follows from it is added by `operations`. */
interface OperationFacts {
  id: string
  summary: string
  description?: string
  access: Access
  /** Counted in a window of a minute. */
  limited?: boolean
  parameters?: NonNullable<ZodOpenApiOperationObject['requestParams']>
  body?: {
    schema: z.ZodType
    /** A field without which it is refused; undefined when none is. */
    required?: string
    /** A field and what could be wrong with it, as an example. */
    invalid: readonly [field: string, detail: string]
    /** May the body be left out altogether? */
    optional?: boolean
    example?: Record<string, unknown>
  }
  answers: Record<string, DocumentedAnswer>
  refusals?: readonly (RefusalCode | DocumentedRefusal)[]
}

/** A signed-in person reads. */
export const SIGNED_IN = { by: 'session', changes: false } as const satisfies Access

/** A signed-in person changes something. */
export const SIGNED_IN_CHANGE = { by: 'session', changes: true } as const satisfies Access

/** What every list refuses. */
export const BAD_LIMIT = {
  code: 'invalid_field',
  with: { field: 'limit', detail: 'must be at most 100' },
} as const satisfies DocumentedRefusal

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

/** The operations under one heading of the document, by method and path. */
export function operations(
  tag: string,
  table: Record<`${Method} /${string}`, OperationFacts>,
): ZodOpenApiPathsObject {
  const paths: ZodOpenApiPathsObject = {}
  for (const [route, facts] of Object.entries(table)) {
    const [method = '', path = ''] = route.split(' ')
    paths[path] = { ...paths[path], [method]: operation(tag, facts) }
  }
  return paths
}

/** Security, headers and refusals follow from who may call it and what it takes. */
function operation(tag: string, facts: OperationFacts): ZodOpenApiOperationObject {
  const { body, parameters } = facts
  return {
    operationId: facts.id,
    tags: [tag],
    summary: facts.summary,
    ...(facts.description === undefined ? {} : { description: facts.description }),
    security: securityOf(facts.access),
    ...(parameters === undefined ? {} : { requestParams: parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: body.optional !== true,
            content: {
              'application/json': {
                schema: body.schema,
                ...(body.example === undefined ? {} : { example: body.example }),
              },
            },
          },
        }),
    responses: { ...answersOf(facts), ...refusalResponses(refusalsOf(facts)), default: UNFORESEEN },
  }
}

const UNFORESEEN: ZodOpenApiResponseObject = {
  description: 'Anything unforeseen has the same form: `internal_error` (500) or `unavailable` (503).',
  content: { 'application/json': { schema: errorAnswer } },
}

function answersOf(facts: OperationFacts) {
  const entries = Object.entries(facts.answers).map(([status, answer]) => {
    const names = [...(facts.limited ? RATE_LIMIT_HEADERS : []), ...(answer.headers ?? [])]
    const response = {
      description: answer.description,
      ...(names.length === 0 ? {} : { headers: headers(names) }),
      ...contentOf(answer),
    }
    return [status, response] as const
  })
  return Object.fromEntries(entries)
}

function contentOf({ schema, type = 'application/json', examples }: DocumentedAnswer) {
  return schema === undefined ? {} : { content: { [type]: { schema, ...(examples && { examples }) } } }
}

function refusalsOf(facts: OperationFacts): DocumentedRefusal[] {
  const own = (facts.refusals ?? []).map((entry) => (typeof entry === 'string' ? { code: entry } : entry))
  const limit: DocumentedRefusal[] = facts.limited ? [{ code: 'rate limit exceeded' }] : []
  const all = [...bodyRefusals(facts.body), ...accessRefusals(facts.access), ...own, ...limit]
  return [...new Map(all.map((entry) => [entry.code, entry])).values()]
}

function bodyRefusals(body: OperationFacts['body']): DocumentedRefusal[] {
  if (body === undefined) return []
  const [field, detail] = body.invalid
  return [
    ...(body.required === undefined ? [] : [{ code: `${body.required} required` as const }]),
    { code: 'invalid_field', with: { field, detail } },
    { code: 'invalid_json' },
    { code: 'payload_too_large' },
    { code: 'unsupported_media_type' },
  ]
}
