import { SCOPES, type Scope } from '../domain/api-key.ts'
import { createApiKey } from '../flow/manage-api-keys.ts'
import { presentKey } from '../http/api/api-keys.ts'
import { checkName } from './check-name.ts'
import { usageError } from './cli-error.ts'
import { findPerson } from './find-person.ts'
import type { CommandResult } from './tell.ts'
import { withService } from './with-service.ts'

export interface CreateKeyOptions {
  owner: string
  name: string
  sandbox?: boolean
  sourceControl?: boolean
  scopes?: string
  json?: boolean
}

/** `countersign key create`: an API key of the owner's account; the raw key is shown this once. */
export function runCreateKey(options: CreateKeyOptions): Promise<CommandResult> {
  const name = checkName(options.name)
  const scopes = options.scopes === undefined ? {} : { scopes: readScopes(options.scopes) }
  return withService(options.json, async (deps) => {
    const owner = await findPerson(deps, options.owner)
    const { sandbox = false, sourceControl: source_control = false } = options
    const wanted = { accountId: owner.account_id, name, sandbox, source_control, ...scopes }
    const { raw_key, key } = await createApiKey(deps, wanted, { kind: 'cli' })
    return {
      value: { raw_key, key: presentKey(key) },
      text: [
        `${key.sandbox ? 'Sandbox key' : 'Key'} "${name}" for ${owner.email} (${key.id}, ${key.scopes.join(' ')}).`,
        'Keep it now, it is shown only this once:',
        '',
        `  ${raw_key}`,
      ].join('\n'),
    }
  })
}

/** Reads `approval:create,approval:read`. @throws CliError */
function readScopes(text: string): Scope[] {
  const names = [...new Set(text.split(',').map((name) => name.trim()))]
  return names.map((name) => {
    const scope = SCOPES.find((known) => known === name)
    if (scope === undefined)
      throw usageError(`${JSON.stringify(name)} is no scope; choose among ${SCOPES.join(', ')}.`)
    return scope
  })
}
