import { z } from 'zod'

/**
 * A credential issued by another service. None holds a blank or begins with a quote: such characters are left over from
 * copying, or from a file format without quotes.
 */
export const credential = z
  .string()
  .regex(/^[^\s"'][^\s]*$/, 'must be the value alone, without white space or quotes around it')
  .optional()

/** Says what is wrong with a secret: too short once decoded, or too uniform to be drawn at random. */
export function weaknessOf(text: string): string | undefined {
  const bytes = decodeSecret(text)
  if (bytes === undefined) return 'must be base64 or hex'
  if (bytes.length < 32) return 'is shorter than 32 bytes'
  if (new Set(bytes).size < 16) return 'is not random'
  return undefined
}

/** Decodes a secret given in hex, base64 or base64url; undefined when it is none of these. */
export function decodeSecret(text: string): Buffer | undefined {
  if (/^(?:[0-9a-fA-F]{2})+$/.test(text)) return Buffer.from(text, 'hex')
  if (/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) return Buffer.from(text, 'base64')
  return undefined
}
