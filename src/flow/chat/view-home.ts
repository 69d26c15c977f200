import { type ChatIdentity, identityKey } from '../../domain/chat.ts'
import type { Outcome } from '../../domain/receipt.ts'
import type { ApprovalRequest } from '../../domain/request.ts'
import { visibleString } from '../../domain/text.ts'
import type { User } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'
import { accountsOf } from '../people/accounts.ts'
import { readHistory } from '../read-history.ts'
import { answerHelp, answerPending } from './answer-command.ts'
import type { ChatAnswer } from './chat-answer.ts'

/** A request that was decided, as its people may read it. `action` is the visible form, in full. */
export interface DecidedRow {
  decision: Outcome
  at: Date
  action: string
  url: string
}

/** What a person finds who opens the app itself. Who is not linked finds how to be. */
export interface HomeView {
  pending?: ChatAnswer & { kind: 'pending' }
  /** The latest first. */
  decided: DecidedRow[]
  help: ChatAnswer & { kind: 'help' }
}

/** What waits for the person, what was decided last, who they are here and what they can type. */
export async function viewHome(deps: FlowDeps, identity: ChatIdentity): Promise<HomeView> {
  const person = await deps.users.findByIdentity(identityKey(identity))
  const help = answerHelp(identity.platform, person, 'help')
  if (person === undefined) return { decided: [], help }
  const [pending, decided] = await Promise.all([answerPending(deps, person), decidedLast(deps, person)])
  return { pending, decided, help }
}

/** Accounts and their requests that are looked through for decisions, and decisions that are shown. */
const MOST_ACCOUNTS = 10
const LOOKED_AT = 20
const MOST_DECIDED = 5

/** Of the accounts in which they work: the one that invited them first, and their own. No dry runs: no person decided those. */
async function decidedLast(deps: FlowDeps, person: User): Promise<DecidedRow[]> {
  const open = (await accountsOf(deps, person)).slice(0, MOST_ACCOUNTS)
  const queries = open.map(({ account }) => ({ account: account.id, sandbox: false, limit: LOOKED_AT }))
  const pages = await Promise.all(queries.map((query) => readHistory(deps, person, query)))
  const rows = pages.flatMap(({ requests }) => requests.flatMap((request) => decidedRow(deps, request)))
  return rows.sort((a, b) => b.at.getTime() - a.at.getTime()).slice(0, MOST_DECIDED)
}

function decidedRow(
  { settings }: Pick<FlowDeps, 'settings'>,
  { id, action, decision }: ApprovalRequest,
): DecidedRow[] {
  if (decision === undefined) return []
  const url = `${settings.baseUrl}/a/${id}`
  return [{ decision: decision.decision, at: decision.decided_at, action: visibleString(action), url }]
}
