import type { ApprovalRequest, RequestStatus } from '../domain/request.ts'
import type { ListPosition } from './ports.ts'

/** Which requests of one account. */
export interface HistoryFilter {
  account_id: string
  /** Only those that name this person, or on which they voted. */
  person_id?: string
  /** A lapsed request counts as expired by the database's clock, also while its `status` still says pending. */
  status?: RequestStatus
  api_key_id?: string
  /** The one with this id, or whose decision has it. */
  id?: string
  /** Made at that time or later. */
  from?: Date
  /** Made before that time. */
  to?: Date
}

/** One page of them, newest first. */
export interface HistoryPage extends HistoryFilter {
  limit: number
  /** Exclusive position: only older ones. */
  before?: ListPosition
}

/** Of a request where it stands in a list, and what a search looks at. */
export interface RequestOutline extends ListPosition {
  action: string
  high_impact: boolean
  sandbox: boolean
}

/** The requests of an account as people look back on them. */
export interface RequestHistory {
  page(query: HistoryPage): Promise<ApprovalRequest[]>
  /** As `page`, in outline. */
  outlines(query: HistoryPage): Promise<RequestOutline[]>
  /** Which of these requests name the person, or have a vote of theirs. */
  concerning(ids: readonly string[], personId: string): Promise<Set<string>>
}
