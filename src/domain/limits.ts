/**
 * What is counted against what: creations, reads and everything else (`key`) by API key, verifications and sign-in or
 * enrolment by address, decisions, changes of one's own account and its logs by signed-in person.
 */
export type LimitBucket = 'create' | 'read' | 'key' | 'verify' | 'auth' | 'person'

/** Requests a minute (interface, "Limits"; `auth`, `person` and `key` are ours). */
export const REQUESTS_A_MINUTE: Readonly<Record<LimitBucket, number>> = {
  create: 60,
  read: 120,
  key: 120,
  verify: 300,
  auth: 60,
  person: 120,
}
