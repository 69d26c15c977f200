import type { SessionTokens } from '../../signing/session-token.ts'
import type { AccountStore } from '../../store/accounts.ts'
import type { AttemptStore } from '../../store/attempts.ts'
import type { AuditLog } from '../../store/audit-inbox.ts'
import type { ChallengeStore } from '../../store/challenges.ts'
import type { EnrollmentStore } from '../../store/enrollments.ts'
import type { SessionStore } from '../../store/sessions.ts'
import type { UserStore } from '../../store/users.ts'
import type { Clock, Log, Random, Vault } from '../ports.ts'
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
