import { hostname, userInfo } from 'node:os'
import { drawId } from '../domain/identifier.ts'
import { type CopiedBy, type CopyMark, RESTORES } from '../domain/restore.ts'
import { createRandom } from '../signing/random.ts'

/** Makes the mark of a copy that is made now, by this user on this machine. */
export function drawCopyMark(copied_by: CopiedBy, copied_at = new Date()): CopyMark {
  const id = drawId({ random: createRandom() }, 'cpy')
  return { id, copied_by, copied_on: `${userName()}@${hostname()}`, copied_at }
}

/** Returns the mark as the document of a copy, and its collection. */
export function markDocument({ id, ...mark }: CopyMark) {
  return { collection: RESTORES, document: { _id: id, state: 'copied', ...mark } }
}

/** A container may run as a user without a name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.geteuid?.() ?? 'unknown')
  }
}
