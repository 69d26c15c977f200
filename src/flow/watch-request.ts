import type { ApprovalRequest } from '../domain/request.ts'
import type { Caller } from './authenticate-caller.ts'
import { isWorthWaiting, nextState, type Patience, type WaitDeps } from './next-state.ts'
import { readOwnRequest } from './read-request.ts'

/**
 * The caller's own request as it is now, then again after every write to it, until it is no longer pending or patience
 * ends. Nothing is read ahead of who consumes it.
 * @throws Refusal `not_found` at the first step, `invalid or missing API key` when the key is revoked meanwhile (T54)
 */
export async function* watchRequest(
  deps: WaitDeps,
  caller: Caller,
  id: string,
  patience: Patience,
): AsyncGenerator<ApprovalRequest, void, undefined> {
  const watch = deps.changes.watch(id, caller.key.id)
  try {
    let request = await readOwnRequest(deps, caller, id)
    yield request
    while (isWorthWaiting(deps, request, patience)) {
      const known = request.version
      request = await nextState(deps, watch, request, patience)
      if (request.version !== known) yield request
    }
  } finally {
    watch.close()
  }
}
