import { okShape } from '../../webauthn-page/kit/api/contract.ts'
import { remove } from '../../webauthn-page/kit/api/request.ts'
import type { NoticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import { askFirst } from '../parts/ask-first.ts'
import type { Key } from './key-shapes.ts'
import { namedKey } from './key-words.ts'

/** Asks first, then revokes the key. What goes wrong is shown in the slot. */
export async function revokeKey(
  key: Pick<Key, 'id' | 'name' | 'key_prefix'>,
  slot: NoticeSlot,
  done: (message: string) => Promise<void>,
): Promise<void> {
  const sure = await askFirst(
    'Revoke this API key?',
    'Revoke',
    ...namedKey(key),
    ' stops working at once, everywhere it is used. This cannot be undone. What it asked for before still waits in the inboxes, ',
    'marked there; reject what should not happen.',
  )
  if (!sure) return
  try {
    await remove(`/account/api-keys/${key.id}`, okShape)
    await done('The API key is revoked.')
  } catch (error) {
    slot.fail(error)
  }
}
