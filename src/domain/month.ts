/** A calendar month, UTC. */
export interface Month {
  /** `YYYY-MM` */
  name: string
  /** When the next one begins. */
  ends: Date
}

/** The month in which a time lies. */
export function monthAt(time: Date): Month {
  const ends = new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + 1, 1))
  return { name: time.toISOString().slice(0, 7), ends }
}
