import { Refusal } from '../domain/errors.ts'
import { revokeApiKey } from '../flow/manage-api-keys.ts'
import { presentKey } from '../http/api/api-keys.ts'
import { CliError } from './cli-error.ts'
import type { CommandResult } from './tell.ts'
import { withService } from './with-service.ts'

/** `countersign key revoke`: at once and for ever. */
export function runRevokeKey(id: string, options: { json?: boolean }): Promise<CommandResult> {
  return withService(options.json, async (deps) => {
    const key = await revokeApiKey(deps, id, undefined, { kind: 'cli' }).catch((error: unknown) => {
      throw inOtherWords(error, id)
    })
    return {
      value: { ok: true, key: presentKey(key) },
      text: `Revoked "${key.name}" (${key.id}). Requests that use it are refused from now on.`,
    }
  })
}

function inOtherWords(error: unknown, id: string): unknown {
  if (!(error instanceof Refusal) || error.code !== 'not_found') return error
  const message = `There is no live key ${JSON.stringify(id.slice(0, 64))}; see: countersign key list`
  return new CliError('key_not_found', message)
}
