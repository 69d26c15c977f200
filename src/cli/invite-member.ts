import type { Member } from '../domain/account.ts'
import { MEMBER_ROLES } from '../domain/account.ts'
import { Refusal } from '../domain/errors.ts'
import { isId } from '../domain/identifier.ts'
import { inviteMemberByOperator } from '../flow/people/invite-member.ts'
import { checkName } from './check-name.ts'
import { CliError, usageError } from './cli-error.ts'
import { checkEmail } from './find-person.ts'
import type { InviteOptions } from './invite-user.ts'
import type { CommandResult } from './tell.ts'
import { withService } from './with-service.ts'

/** `countersign user invite --account … --role …`: a member of an account, and the one-time link by which they join. */
export function runInviteMember(address: string, options: InviteOptions): Promise<CommandResult> {
  const email = checkEmail(address)
  const name = options.name === undefined ? {} : { name: checkName(options.name) }
  const { accountId, role } = readMembership(options)
  return withService(options.json, async (deps) => {
    const invite = inviteMemberByOperator(deps, accountId, { email, role, ...name })
    const { user, link } = await invite.catch((error: unknown) => {
      throw inOtherWords(error, { email, accountId })
    })
    const joins =
      user.enrolled_at === null
        ? 'Send them this one-time link; it is shown only now and lets whoever opens it first enrol:'
        : 'They have enrolled before: by this link, or in the dashboard, they sign in and accept.'
    return {
      value: { user_id: user.id, account_id: accountId, role, enroll_url: link.url },
      text: [
        `Invited ${user.email} (${user.id}) into account ${accountId} as ${role}.`,
        joins,
        '',
        `  ${link.url}`,
        '',
        `It is good until ${link.expires_at.toISOString()}.`,
      ].join('\n'),
    }
  })
}

function readMembership({ account, role, renew }: InviteOptions): {
  accountId: string
  role: Member['role']
} {
  if (renew) throw usageError('--renew is for a link of their own; leave out --account and --role.')
  if (account === undefined || role === undefined)
    throw usageError('--account and --role go together: into which account, and as what.')
  if (!isId('acc', account)) throw usageError(`${JSON.stringify(account)} is no account id (acc_…).`)
  const known = MEMBER_ROLES.find((one) => one === role)
  if (known === undefined)
    throw usageError(`${JSON.stringify(role)} is no role; choose among ${MEMBER_ROLES.join(', ')}.`)
  return { accountId: account, role: known }
}

function inOtherWords(error: unknown, about: { email: string; accountId: string }): unknown {
  if (!(error instanceof Refusal)) return error
  if (error.code === 'not_found')
    return new CliError(
      'account_not_found',
      `There is no account ${about.accountId}; see: countersign user list`,
    )
  if (error.code === 'member_exists')
    return new CliError(error.code, `${about.email} is in account ${about.accountId}, or invited, already.`)
  return error
}
