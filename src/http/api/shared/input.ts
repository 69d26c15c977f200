import { z } from 'zod'
import type { IdPrefix } from '../../../domain/identifier.ts'
import { LONGEST_WAIT } from '../../../domain/restore.ts'
import { LONGEST_SEARCH } from '../../../domain/search.ts'
import { checkCallerText, shortNameFault } from '../../../domain/text-check.ts'
import { idPattern } from './fields.ts'

/** Any string; each use adds its own rules. */
export const text = z.string({ error: 'must be a text' })

export const flag = z.boolean({ error: 'must be true or false' })

/** The account to look at. A text that is not an id is answered like an unknown id. */
export const accountParameter = text
  .optional()
  .meta({ description: 'Id of the account; your own if omitted.' })

const moment = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()])
  .transform((text) => new Date(text))
  .refine((time) => !Number.isNaN(time.getTime()))

/** One end of a period: a time with its offset, or a day, which stands for midnight UTC. */
export function timeParameter(description: string) {
  return text
    .transform((text, context) => {
      const parsed = moment.safeParse(text)
      if (parsed.success) return parsed.data
      context.addIssue({ code: 'custom', message: 'must be a day or a time such as 2026-03-04T09:30:00Z' })
      return z.NEVER
    })
    .optional()
    .meta({ description, example: '2026-03-04T09:30:00Z' })
}

/** A boolean in a query. */
export function flagParameter(description: string) {
  return z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .transform((text) => text === 'true')
    .optional()
    .meta({ description })
}

/** A whole number in a query, in decimal digits alone: JavaScript also takes `0x10`, `1e1` and ` 5` for numbers. */
export function wholeNumber(least: number, most: number) {
  return z.preprocess(
    (text) => (typeof text === 'string' && /^-?\d{1,15}$/.test(text) ? Number(text) : text),
    z
      .int({ error: 'must be a whole number' })
      .min(least, `must be at least ${least}`)
      .max(most, `must be at most ${most}`),
  )
}

/** The text to search for; it is never treated as a pattern. */
export function searchParameter(description: string) {
  return text
    .max(LONGEST_SEARCH, `must not exceed ${LONGEST_SEARCH} characters`)
    .optional()
    .meta({ description })
}

/** A short name that a person gives to something. */
export const shortName = text
  .trim()
  .superRefine((name, context) => {
    const message = shortNameFault(name)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })
  .meta({ maxLength: 80 })

/** Like `shortName`, but not empty. */
export const givenName = shortName.refine((text) => text !== '', 'must not be empty').meta({ minLength: 1 })

/** The id of something, in an input. */
export function idText(prefix: IdPrefix, error: string) {
  return z.string({ error }).regex(idPattern(prefix), error)
}

export const WRONG_CURSOR = 'must be the next_cursor of an earlier page'

/** The page of a list. The service makes the cursors, but they come back from outside, so their form is checked strictly. */
export function pageQuery(limit: number) {
  return z.object({
    limit: wholeNumber(1, 100).default(limit).meta({ description: 'How many at most.' }),
    cursor: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,200}$/, WRONG_CURSOR)
      .optional()
      .meta({ description: '`next_cursor` of the page before.' }),
  })
}

/** A person's decision on a request. */
export const outcome = z.enum(['approved', 'rejected'], { error: 'must be approved or rejected' })

/** Seconds that a request waits for its decision. */
export const ttlSeconds = z
  .int({ error: 'must be a whole number' })
  .min(60, 'must be at least 60')
  .max(LONGEST_WAIT, `must be at most ${LONGEST_WAIT}`)

/** Text that a person will read: what could deceive them unseen is refused, everything else stays as it is (T43). */
export const callerText = text.superRefine((text, context) => {
  const checked = checkCallerText(text)
  if (!checked.ok) {
    const where = checked.codePoint === undefined ? '' : ` (${checked.codePoint})`
    context.addIssue({ code: 'custom', message: `${checked.reason}${where}` })
  }
})

/** The format of a list that is downloaded as a file. */
export const fileFormat = z.enum(['ndjson', 'csv'], { error: 'must be ndjson or csv' }).meta({
  description:
    '`ndjson`: one entry a line, as in the list; requests also with `approver_name`, `delegate_name` and `comment`, entries of the trail with `actor_name`, `subject_name` and `action`. `csv`: RFC 4180 with a line of names.',
})
