import { given } from '../domain/given.ts'
import { isId } from '../domain/identifier.ts'
import type { ApprovalRequest, RequestStatus } from '../domain/request.ts'
import type { FlowDeps } from '../flow/deps.ts'
import { withdraw } from '../flow/requests/cancel-request.ts'
import { presentRequest } from '../http/api/approval.ts'
import { mergeNewest } from '../store/mongo/filters.ts'
import type { HistoryFilter } from '../store/requests/request-history.ts'
import { CliError, type CommandResult, oneLine, oneOf, table } from './terminal.ts'
import { accountsOf, type PageOptions, readPage, withService } from './with-service.ts'

export interface ListRequestsOptions extends PageOptions {
  owner?: string
  status?: string
}

/** The words for `--status`. An operator tells a withdrawn request from one that nobody decided in time. */
const STATUSES: Readonly<Record<string, Pick<HistoryFilter, 'status' | 'withdrawn' | 'consumed'>>> = {
  pending: { status: 'pending' },
  approved: { status: 'approved' },
  consumed: { status: 'approved', consumed: true },
  rejected: { status: 'rejected' },
  expired: { status: 'expired', withdrawn: false },
  withdrawn: { status: 'expired', withdrawn: true },
}

/** `countersign requests list`: lists the requests of one account or of all, newest first. */
export function runListRequests(options: ListRequestsOptions): Promise<CommandResult> {
  const { limit, after } = readPage(options)
  const { status } = options
  const which = status === undefined ? {} : STATUSES[oneOf(Object.keys(STATUSES), status, 'status')]
  const list = async (deps: FlowDeps): Promise<CommandResult> => {
    const before = after === undefined ? undefined : await find(deps, after)
    const reads: ApprovalRequest[][] = []
    // One account after the other: there may be many, and nobody waits but the operator.
    for (const account_id of await accountsOf(deps, options.owner))
      reads.push(await deps.history.page({ account_id, limit: limit + 1, ...which, ...given({ before }) }))
    const found = mergeNewest(reads, limit + 1)
    const page = found.slice(0, limit)
    const next = found.length > limit ? page.at(-1)?.id : undefined
    const now = deps.clock.now()
    const rows = page.map((request) => [
      request.id,
      statusOf(request, now),
      request.consumed_at?.toISOString() ?? '',
      request.created_at.toISOString(),
      request.expires_at.toISOString(),
      request.requested_by.key_name,
      request.requested_by.account_name,
      request.action,
    ])
    const more = next === undefined ? '' : `\nMore: --after ${next}`
    return {
      value: {
        data: page.map((request) => presentForOperator(deps, request, now)),
        next_cursor: next ?? null,
      },
      text:
        rows.length === 0
          ? 'No request matches.'
          : `${table(['REQUEST', 'STATUS', 'CONSUMED', 'CREATED', 'EXPIRES', 'CALLER', 'ACCOUNT', 'ACTION'], rows)}${more}`,
    }
  }
  return withService(list, { reads: true })
}

/** `countersign requests show`: tells of a request what its account's owner sees, and who has to decide. */
export function runShowRequest(id: string): Promise<CommandResult> {
  const show = async (deps: FlowDeps): Promise<CommandResult> => {
    const request = await find(deps, id)
    const now = deps.clock.now()
    const approvers: string[] = []
    for (const { user_id } of request.requirement.approvers)
      approvers.push((await deps.users.find(user_id))?.email ?? user_id)
    const votes = request.votes.map(({ approver, decision, method, at }) => ({
      approver,
      decision,
      method,
      at: at.toISOString(),
    }))
    const status = statusOf(request, now)
    const { key_name, account_name } = request.requested_by
    const lines = [
      `${request.id}  ${status}${request.sandbox ? ' (dry run)' : ''}`,
      `Requested by ${oneLine(key_name)} of ${oneLine(account_name)}, at ${request.created_at.toISOString()}`,
      `${status === 'pending' ? 'Expires at' : 'Expiry:'} ${request.expires_at.toISOString()}`,
      ...(request.consumed_at === undefined ? [] : [`Consumed at ${request.consumed_at.toISOString()}`]),
      `Action: ${oneLine(request.action)}`,
      `Approvers: ${approvers.join(', ')}`,
      ...votes.map(
        ({ approver, decision, method, at }) => `Vote: ${decision} by ${approver} (${method}), at ${at}`,
      ),
    ]
    return { value: { ...presentForOperator(deps, request, now), approvers, votes }, text: lines.join('\n') }
  }
  return withService(show, { reads: true })
}

/** `countersign requests cancel`: withdraws a pending request, as its caller could. */
export function runCancelRequest(id: string): Promise<CommandResult> {
  return withService(async (deps) => {
    const request = await find(deps, id)
    const cancelled = await withdraw(deps, request, { kind: 'cli' })
    if (cancelled === undefined) {
      const status = statusOf((await deps.requests.find(id)) ?? request, deps.clock.now())
      throw new CliError('not_pending', `${id} is ${status}; only a pending request can be withdrawn.`)
    }
    return {
      value: { id, status: statusOf(cancelled, deps.clock.now()), cancelled: true },
      text: `${id} is withdrawn.`,
    }
  })
}

async function find({ requests }: Pick<FlowDeps, 'requests'>, id: string): Promise<ApprovalRequest> {
  const request = isId('req', id) ? await requests.find(id) : undefined
  if (request === undefined)
    throw new CliError('not_found', `There is no request ${oneLine(id)}; see: countersign requests list`)
  return request
}

/** Returns the status for an operator. A request that lapsed counts as expired before a sweep marks it. */
function statusOf(request: ApprovalRequest, now: Date): RequestStatus | 'withdrawn' {
  return request.cancelled === true ? 'withdrawn' : unlapsed(request, now).status
}

function unlapsed(request: ApprovalRequest, now: Date): ApprovalRequest {
  const lapsed = request.status === 'pending' && request.expires_at <= now
  return lapsed ? { ...request, status: 'expired' } : request
}

function presentForOperator({ settings }: Pick<FlowDeps, 'settings'>, request: ApprovalRequest, now: Date) {
  const { account_id, api_key_id, requested_by } = request
  const presented = presentRequest(unlapsed(request, now), settings.baseUrl)
  return { ...presented, status: statusOf(request, now), account_id, api_key_id, requested_by }
}
