import { notice } from '../dom/notice.ts'

/**
 * Whoever revokes a key may have lost it: what it asked for before still waits (the interface's "Revoking a key is
 * immediate" speaks of its calls alone), so the person who decides must know. Undefined for a key in use.
 */
export function revokedKeyNote(asker: { key_revoked?: boolean | undefined }): HTMLElement | undefined {
  return asker.key_revoked === true ? notice('warning', REVOKED_KEY) : undefined
}

export const REVOKED_KEY =
  'This API key was revoked after it asked. Reject this unless you know that it should still happen.'
