import type {
  AttemptStore,
  ChallengeStore,
  EnrollmentStore,
  SessionStore,
  SessionTokens,
  UserStore,
} from '../people-ports.ts'
import type { AccountStore, AuditLog, Clock, Log, Random, Vault } from '../ports.ts'
import type { PushDeviceStore } from '../push-ports.ts'
import type { RelyingParty } from './ceremony.ts'

/** Everything the people part works with; each function names the part it needs by `Pick`. */
export interface PeopleDeps {
  users: UserStore
  challenges: ChallengeStore
  sessions: SessionStore
  enrollments: EnrollmentStore
  attempts: AttemptStore
  accounts: AccountStore
  pushDevices: PushDeviceStore
  audit: AuditLog
  vault: Vault
  tokens: SessionTokens
  clock: Clock
  random: Random
  log: Log
  party: RelyingParty
}
