import { expect } from 'vitest'
import { answerSchema, documentedCodes, type Method } from './documented.ts'
import type { Answer } from './http-client.ts'

/** Answers of this test file that were held against the document: `<method> <path> <status>`. */
export const seen = new Set<string>()

/** Holds an answer against the document and notes that this answer was looked at. @returns its body */
export function documented(method: Method, path: string, status: number, answer: Answer): Answer['body'] {
  const where = `${method} ${path} ${status}`
  expect(answer.status, `${where}: ${JSON.stringify(answer.body)}`).toBe(status)
  const parsed = answerSchema(method, path, status).safeParse(answer.body)
  expect(parsed.error?.issues ?? [], where).toEqual([])
  const { message = '', field = '', detail = '' } = Object(answer.body)
  // People are shown the message alone.
  if (status >= 400 && 'message' in Object(answer.body))
    for (const part of [field, detail]) expect(message, where).toContain(part)
  seen.add(where)
  return answer.body
}

/** As `documented`, for a refusal with this code. */
export function refused(method: Method, path: string, status: number, answer: Answer, code: string): void {
  const body = documented(method, path, status, answer)
  expect(body.error).toBe(code)
  expect(documentedCodes(method, path, status)).toContain(code)
}
