import { PolicyError, parsePolicy, type TrustPolicy } from '../signing/log/policy.ts'
import { readInput } from './read-input.ts'
import { oneLine, usageError } from './terminal.ts'

/** Reads the file of `--policy` (C2SP tlog-policy). @throws CliError (usage) */
export async function readPolicy(path: string): Promise<TrustPolicy> {
  const text = await readInput(path)
  try {
    return await parsePolicy(text)
  } catch (error) {
    if (error instanceof PolicyError) throw usageError(oneLine(`${path} cannot be used: ${error.message}.`))
    throw error
  }
}
