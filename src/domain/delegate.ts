/** Who stands in for somebody, and when. The vote then counts for that somebody and is made with the delegate's own factor. */
export interface Delegate {
  user_id: string
  starts_at: Date
  /** Exclusive. */
  ends_at: Date
}

/** The longest time somebody can be stood in for. */
export const MAX_DELEGATION_DAYS = 366

/** Does the delegate stand in at that time? */
export function standsIn(delegate: Delegate | undefined, now: Date): delegate is Delegate {
  return delegate !== undefined && delegate.starts_at <= now && now < delegate.ends_at
}
