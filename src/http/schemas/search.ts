import { z } from 'zod'
import { LONGEST_SEARCH } from '../../domain/search-text.ts'

/** Which account to look at. What is no id answers like an id that is unknown. */
export const accountParameter = z
  .string({ error: 'must be a text' })
  .optional()
  .meta({ description: 'Id of the account; your own if omitted.' })

const moment = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()])
  .transform((text) => new Date(text))
  .refine((time) => !Number.isNaN(time.getTime()))

/** One end of a stretch of time: a time with its offset, or a day, which begins at midnight UTC. */
export function timeParameter(description: string) {
  return z
    .string({ error: 'must be a text' })
    .transform((text, context) => {
      const parsed = moment.safeParse(text)
      if (parsed.success) return parsed.data
      context.addIssue({ code: 'custom', message: 'must be a day or a time such as 2026-03-04T09:30:00Z' })
      return z.NEVER
    })
    .optional()
    .meta({ description, example: '2026-03-04T09:30:00Z' })
}

/** A yes or no in a query. */
export function flagParameter(description: string) {
  return z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .transform((text) => text === 'true')
    .optional()
    .meta({ description })
}

/** What to search for: never a pattern. */
export function searchParameter(description: string) {
  return z
    .string({ error: 'must be a text' })
    .max(LONGEST_SEARCH, `must not exceed ${LONGEST_SEARCH} characters`)
    .optional()
    .meta({ description })
}

/** Leaves out what was not given, as queries of exact types want it. */
export function given<Fields extends Record<string, unknown>>(
  fields: Fields,
): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }
}
