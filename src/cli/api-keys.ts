import { type ApiKey, SCOPES, type Scope } from '../domain/api-key.ts'
import { Refusal } from '../domain/errors.ts'
import { createApiKey, revokeApiKey } from '../flow/manage-api-keys.ts'
import { presentKey } from '../http/api/api-keys.ts'
import { CliError, type CommandResult, table, usageError } from './terminal.ts'
import { checkName, findPerson, withService } from './with-service.ts'

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

/** `countersign key list`: API keys of every owner, or of one, oldest first; revoked ones too. */
export function runListKeys(options: { owner?: string; json?: boolean }): Promise<CommandResult> {
  return withService(options.json, async (deps) => {
    const owner = options.owner === undefined ? undefined : await findPerson(deps, options.owner)
    const found = await deps.apiKeys.list(owner?.account_id)
    const people = await deps.users.list()
    const emails = new Map(people.map((person) => [person.account_id, person.email]))
    const keys = found.filter((key) => key.internal !== true)
    const ownerOf = (key: ApiKey) => emails.get(key.account_id) ?? null
    return {
      value: {
        data: keys.map((key) => ({
          ...presentKey(key),
          account_id: key.account_id,
          owner: ownerOf(key),
        })),
        next_cursor: null,
      },
      text:
        keys.length === 0
          ? 'No keys yet. Make one: countersign key create --owner <email> --name <name>'
          : table(
              ['KEY', 'BEGINS WITH', 'NAME', 'OWNER', 'STATE', 'LAST USED'],
              keys.map((key) => [
                key.id,
                key.key_prefix,
                key.name,
                ownerOf(key) ?? '',
                stateOf(key),
                used(key),
              ]),
            ),
    }
  })
}

function stateOf(key: ApiKey): string {
  return key.revoked_at === null ? 'live' : `revoked ${key.revoked_at.toISOString()}`
}

function used(key: ApiKey): string {
  return key.last_used_at?.toISOString() ?? 'never'
}

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
