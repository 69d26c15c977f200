/** A request that holds one of the places before an approver. */
export interface HeldPlace {
  id: string
  at: Date
}

/** Places of pending requests, for each account and approver `MOST_PENDING` (T24). */
export interface PlaceStore {
  /** Takes a place, in one conditional write; who holds one keeps it. @returns false when all are taken */
  take(accountId: string, userId: string, requestId: string, at: Date): Promise<boolean>
  held(accountId: string, userId: string): Promise<HeldPlace[]>
  /** Frees the places of these requests. */
  free(accountId: string, userId: string, requestIds: readonly string[]): Promise<void>
}
