/** The pending requests that name the same people, told apart from what they were a moment ago. */
export interface InboxMark {
  /** Ids of everybody named. */
  approvers: string[]
  /** Another text after any change to these requests. */
  mark: string
}

/** Reads for everybody who watches an inbox at once: one query each, however many they are. */
export interface InboxStore {
  /** Marks of what is pending, unexpired by the database's clock, for any of these people; no dry-runs. */
  marks(userIds: readonly string[]): Promise<InboxMark[]>
  /** Who of these people stands in at `now`, and for whom. */
  standIns(userIds: readonly string[], now: Date): Promise<{ delegate: string; principal: string }[]>
  /** Marks of what each of these people is in other people's accounts: as a delegate they decide only where they are approvers. */
  seats(userIds: readonly string[]): Promise<{ user_id: string; mark: string }[]>
}

/** Why a look at the inbox is due; `session_over`: the session it is watched in has ended. */
export type InboxNews = 'changed' | 'session_over'

/** One stream's eye on its person's inbox and on its own session. */
export interface InboxWatch {
  /**
   * Resolves when the inbox may have changed since the last call, at first as soon as changes can be told from now on.
   * @returns undefined at the deadline, when `signal` aborted or when everybody is told to stop
   */
  next(deadline: Date, signal: AbortSignal): Promise<InboxNews | undefined>
  close(): void
}

/** Wakes those who watch an inbox: at once for changes made by this process, by polling for those of others. */
export interface InboxSignal {
  watch(userId: string, sessionId: string): InboxWatch
}
