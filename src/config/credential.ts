import { z } from 'zod'

/**
 * A credential issued by another service. None holds a blank or begins with a quote: such characters are left over from
 * copying, or from a file format without quotes.
 */
export const credential = z
  .string()
  .regex(/^[^\s"'][^\s]*$/, 'must be the value alone, without white space or quotes around it')
  .optional()
