/** What is counted against what: creations and reads by key, verifications and sign-in or enrolment by address. */
export type LimitBucket = 'create' | 'read' | 'verify' | 'auth'

/** Requests a minute (interface, "Limits"; `auth` is ours). */
export const REQUESTS_A_MINUTE: Readonly<Record<LimitBucket, number>> = {
  create: 60,
  read: 120,
  verify: 300,
  auth: 60,
}
