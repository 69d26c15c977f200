import { type ChatIdentity, identityKey } from '../../domain/chat.ts'
import type { Outcome } from '../../domain/receipt.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import { visibleString } from '../../domain/text.ts'
import type { User } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'
import { accountsOf } from '../people/accounts.ts'
import { readHistory } from '../requests/read-history.ts'
import { answerHelp, answerPending } from './answer-command.ts'
import type { ChatAnswer } from './chat-answer.ts'

/** A decided request as its people may see it. `action` is its complete visible form. */
export interface DecidedRow {
  decision: Outcome
  at: Date
  action: string
  url: string
}

/** The home view of the app. A person who is not linked sees how to link. */
export interface HomeView {
  pending?: ChatAnswer & { kind: 'pending' }
  /** Newest first. */
  decided: DecidedRow[]
  help: ChatAnswer & { kind: 'help' }
}

/** Reads what the home view shows: waiting requests, recent decisions, the linked person and the commands. */
export async function viewHome(deps: FlowDeps, identity: ChatIdentity): Promise<HomeView> {
  const person = await deps.users.findByIdentity(identityKey(identity))
  const help = answerHelp(identity.platform, person, 'help')
  if (person === undefined) return { decided: [], help }
  const [pending, decided] = await Promise.all([answerPending(deps, person), decidedLast(deps, person)])
  return { pending, decided, help }
}

/** Limits: accounts and requests searched for decisions, and decisions shown. */
const MOST_ACCOUNTS = 10
const LOOKED_AT = 20
const MOST_DECIDED = 5

/** Finds the latest decisions in the person's accounts, without sandbox requests, which no person decided. */
async function decidedLast(deps: FlowDeps, person: User): Promise<DecidedRow[]> {
  const open = (await accountsOf(deps, person)).slice(0, MOST_ACCOUNTS)
  const queries = open.map(({ account }) => ({ account: account.id, sandbox: false, limit: LOOKED_AT }))
  const pages = await Promise.all(queries.map((query) => readHistory(deps, person, query)))
  const rows = pages.flatMap(({ requests }) => requests.flatMap((request) => decidedRow(deps, request)))
  return rows.sort((a, b) => b.at.getTime() - a.at.getTime()).slice(0, MOST_DECIDED)
}

function decidedRow({ settings }: FlowDeps, { id, action, decision }: ApprovalRequest): DecidedRow[] {
  if (decision === undefined) return []
  const url = `${settings.baseUrl}/a/${id}`
  return [{ decision: decision.decision, at: decision.decided_at, action: visibleString(action), url }]
}
