import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { packagePath } from '../../src/config/package-path.ts'
import { PATHS } from '../../src/http/operations.ts'

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const

export type Method = (typeof METHODS)[number]

/** One documented operation. */
export interface DocumentedOperation {
  method: Method
  path: string
  statuses: string[]
}

/** Everything the document describes. */
export function documentedOperations(): DocumentedOperation[] {
  return Object.entries(PATHS).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const responses = item[method]?.responses
      return responses === undefined ? [] : [{ method, path, statuses: Object.keys(responses) }]
    }),
  )
}

/** The schema an answer must fit. @throws when the document does not know this answer */
export function answerSchema(method: Method, path: string, status: number): z.ZodType {
  const response = responseOf(method, path, status)
  const [content] = Object.values(contentOf(response))
  if (content === undefined) return z.undefined()
  const { schema } = content
  if (!(schema instanceof z.ZodType)) throw new Error(`${method} ${path} documents no body for ${status}`)
  return schema
}

/** The codes the document lists for an answer. */
export function documentedCodes(method: Method, path: string, status: number): string[] {
  const response = responseOf(method, path, status)
  const examples: object[] = Object.values(Object(Object.values(contentOf(response))[0]).examples ?? {})
  return examples.map((example) => String(Object(Reflect.get(example, 'value')).error))
}

function contentOf(response: object): Record<string, { schema?: unknown }> {
  return 'content' in response ? Object(response.content) : {}
}

function responseOf(method: Method, path: string, status: number) {
  const responses = PATHS[path]?.[method]?.responses
  const response =
    responses === undefined
      ? undefined
      : Object.entries(responses).find(([key]) => key === String(status))?.[1]
  if (response === undefined || response === null || typeof response !== 'object')
    throw new Error(`${method} ${path} documents no ${status}`)
  return response
}

/** The committed document. */
export function committedDocument(): unknown {
  return JSON.parse(readFileSync(packagePath('openapi.json'), 'utf8'))
}
