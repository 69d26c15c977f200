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

/** When a store was restored, and when its copy was made: what everybody may know of a restore. */
export interface RestoreTimes {
  copied_at: Date
  restored_at: Date
}

/** Says of a valid receipt that its request was pending in the copy. */
export function cautionAfter(restore: RestoreTimes): string {
  return `${restored(restore)} in which this request was pending: another decision on it may have been signed in between.`
}

/** What a receipt says about its time; Unix seconds. */
export interface DatedReceipt {
  rid: string
  ts: number
  exp: number
  /** When its key began to sign. */
  key_since: number
  /** When the request was made; only the intent proves it. */
  created?: number | undefined
}

/** A receipt is signed a moment before it is stored, and the time of a copy may be that of another machine's clock; in seconds. */
const UNSURE = 60

/** The longest time that a request waits for its decision, in seconds. */
export const LONGEST_WAIT = 604_800

/**
 * Says of a valid receipt that, because of a restore, another one may contradict it; undefined if it does not. Each restore lets
 * new keys sign: an older key that signed after the copy did so in the part of the history that is lost. Without the intent a
 * receipt that may be of a request in the copy gets a caution, too, or leaving out the intent would hide the restore.
 */
export function restoreCaution(receipt: DatedReceipt, restores: readonly RestoreTimes[]): string | undefined {
  const cautions = restores.map((restore) => cautionOf(receipt, restore))
  return cautions.filter((caution) => caution !== undefined).at(-1)
}

function cautionOf({ rid, ts, exp, key_since, created }: DatedReceipt, restore: RestoreTimes) {
  const [from, to] = [restore.copied_at, restore.restored_at].map((at) => Math.floor(at.getTime() / 1000))
  if (from === undefined || to === undefined) return undefined
  if (key_since < to)
    return ts < from - UNSURE
      ? undefined
      : `${restored(restore)}. This receipt may be missing in that copy, so the service may not know it, and another decision on the request may be signed.`
  if (created !== undefined) return created < to ? cautionAfter(restore) : undefined
  return exp - LONGEST_WAIT < to
    ? `${restored(restore)}. The receipt alone does not show whether the request was pending in it, so that another decision may have been signed: ask GET /api/v1/approvals/${rid}/verify.`
    : undefined
}

function restored({ copied_at, restored_at }: RestoreTimes): string {
  return `The store was restored on ${restored_at.toISOString()} from a copy of ${copied_at.toISOString()}`
}

/** Numbers of what the first start on a copy set aside: it may have been sent after the copy was made. Webhook events count as callbacks. */
export interface SetAside {
  callbacks: number
  pushes: number
  cards: number
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
