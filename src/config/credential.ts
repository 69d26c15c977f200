import { z } from 'zod'

/** What another service gave out. None holds a blank or begins with a quote: those are left over from copying, or from a file that knows no quotes. */
export const credential = z
  .string()
  .regex(/^[^\s"'][^\s]*$/, 'must be the value alone, without white space or quotes around it')
  .optional()
