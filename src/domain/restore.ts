/** How a copy of the store was made. `operator`: by another tool, such as mongodump; the operator said so afterwards. */
export type CopiedBy = 'backup' | 'export' | 'operator'

/** Says of a copy of the store that it is one. The copier writes it into the copy alone, never into the store in use. */
export interface CopyMark {
  /** `cpy_…` */
  id: string
  copied_by: CopiedBy
  /** User and machine, as `user@host`. */
  copied_on: string
  copied_at: Date
}

/** The collection of these marks; a store that is started on a copy keeps them there as its restores. */
export const RESTORES = 'restores'

/**
 * A restore. `copied`: a mark that no start has seen yet; `held`: what the copy left open is held; `lifted`: the operator lifted
 * the hold.
 */
export interface Restore extends CopyMark {
  state: 'copied' | 'held' | 'lifted'
  /** 1, 2, 3 …, given by the first start. */
  number?: number
  /** The first start on the copy. */
  restored_at?: Date
  lifted_at?: Date
}

/** What a request says about the restores of its store. */
export interface MadeAfter {
  /** Id of the last restore when the request was made; absent if the store was never restored before. */
  made_after?: string
  /** Id of the restore whose hold the operator lifted for this request alone. */
  released?: string
}

/** Checks whether the request was in the copy: another decision on it, or another use, may have followed after that copy. */
export function isFromCopy(request: MadeAfter, restore: Restore | undefined): restore is Restore {
  return restore !== undefined && request.made_after !== restore.id
}

/** Checks whether the request must be neither decided nor used, until the operator lifts the hold. */
export function isHeldBy(request: MadeAfter, restore: Restore | undefined): boolean {
  return isFromCopy(request, restore) && restore.state === 'held' && request.released !== restore.id
}
