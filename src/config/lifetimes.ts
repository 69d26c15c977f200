import { z } from 'zod'
import type { Retention } from '../domain/request.ts'

/** A whole number within bounds. @param what such as ` of seconds` */
export function wholeNumber(least: number, most: number, otherwise: number, what = '') {
  const fits = (text: string): boolean =>
    /^[1-9]\d*$/.test(text) && Number(text) >= least && Number(text) <= most
  const told = `must be a whole number${what} from ${least} to ${most}`
  return z.string().refine(fits, told).transform(Number).default(otherwise)
}

const days = z
  .string()
  .refine((text) => /^[1-9]\d{0,3}$/.test(text), 'must be a whole number of days from 1 to 9999')
  .transform(Number)
  .optional()

/** The variables that say how long something lives. */
export const lifetimeVariables = {
  SESSION_DAYS: wholeNumber(1, 30, 7, ' of days'),
  SESSION_IDLE_HOURS: wholeNumber(1, 168, 12, ' of hours'),
  RETENTION_DAYS: days,
  RETENTION: z.enum(['texts', 'whole'], { error: 'must be texts or whole' }).default('texts'),
  AUDIT_RETENTION_DAYS: days,
}

export interface Lifetimes {
  /** When sessions end by themselves: `mostMs` after sign-in, or `idleMs` after their last use. */
  readonly sessions: { readonly mostMs: number; readonly idleMs: number }
  readonly retention: Retention
}

/** Reads what the variables say. */
export function readLifetimes(values: {
  SESSION_DAYS: number
  SESSION_IDLE_HOURS: number
  RETENTION_DAYS?: number | undefined
  RETENTION: 'texts' | 'whole'
  AUDIT_RETENTION_DAYS?: number | undefined
}): Lifetimes {
  return {
    sessions: Object.freeze({
      mostMs: values.SESSION_DAYS * 86_400_000,
      idleMs: values.SESSION_IDLE_HOURS * 3_600_000,
    }),
    retention: Object.freeze({
      days: values.RETENTION_DAYS,
      whole: values.RETENTION === 'whole',
      auditDays: values.AUDIT_RETENTION_DAYS,
    }),
  }
}
