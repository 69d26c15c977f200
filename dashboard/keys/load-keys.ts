import { get } from '../../webauthn-page/kit/api/request.ts'
import { type Key, keysShape } from './key-shapes.ts'

/** All keys of the account, revoked ones too. @throws RequestFailure, ShapeError */
export async function loadKeys(): Promise<Key[]> {
  const keys: Key[] = []
  let cursor = ''
  // A bound on pages: a service that never ends its list must not keep this page busy for ever.
  for (let page = 0; page < 50; page += 1) {
    const { data, next_cursor } = await get(`/account/api-keys${cursor}`, keysShape)
    keys.push(...data)
    if (next_cursor === null) break
    cursor = `?cursor=${encodeURIComponent(next_cursor)}`
  }
  return keys
}
