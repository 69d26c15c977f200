import type { ApiKey } from '../domain/api-key.ts'
import { presentKey } from '../http/api/api-keys.ts'
import { findPerson } from './find-person.ts'
import { table } from './table.ts'
import type { CommandResult } from './tell.ts'
import { withService } from './with-service.ts'

/** `countersign key list`: API keys of everybody, or of one owner, oldest first; revoked ones too. */
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
