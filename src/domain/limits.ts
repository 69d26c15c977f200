/**
 * What is counted against what: creations, reads and everything else (`key`) by API key, verifications and sign-in or
 * enrolment by address, decisions, changes of one's own account, its logs and files of them (`export`) and tests of
 * notifications (`push_test`) by signed-in person.
 * Bootstraps begun and polls of them are counted by address too.
 */
export type LimitBucket =
  | 'create'
  | 'read'
  | 'key'
  | 'verify'
  | 'auth'
  | 'person'
  | 'export'
  | 'push_test'
  | 'bootstrap'
  | 'poll'

/** Requests a minute (interface, "Limits"; those it does not name are ours). */
export const REQUESTS_A_MINUTE: Readonly<Record<LimitBucket, number>> = {
  create: 60,
  read: 120,
  key: 120,
  verify: 300,
  auth: 60,
  person: 120,
  export: 10,
  push_test: 5,
  bootstrap: 20,
  poll: 300,
}
