import { checkCallerText, codePointLength } from '../domain/text.ts'
import { usageError } from './cli-error.ts'

/** A name as the service takes it: one line of at most 80 characters, trimmed. @throws CliError */
export function checkName(text: string): string {
  const name = text.trim()
  if (name === '') throw usageError('The name must not be empty.')
  if (codePointLength(name) > 80) throw usageError('The name must not exceed 80 characters.')
  if (!checkCallerText(name).ok || /[\n\t]/.test(name))
    throw usageError('The name must be one line without control characters.')
  return name
}
