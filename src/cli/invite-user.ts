import { Refusal } from '../domain/errors.ts'
import type { FlowDeps } from '../flow/deps.ts'
import { inviteUser, renewInvitation } from '../flow/people/invite-user.ts'
import { checkName } from './check-name.ts'
import { CliError, usageError } from './cli-error.ts'
import { checkEmail } from './find-person.ts'
import type { CommandResult } from './tell.ts'
import { withService } from './with-service.ts'

export interface InviteOptions {
  name?: string
  renew?: boolean
  /** With `role`: into this account, as a member. */
  account?: string
  role?: string
  json?: boolean
}

/** `countersign user invite`: a person with an account of their own and a one-time link; `--renew`: a new link only. */
export function runInviteUser(address: string, options: InviteOptions): Promise<CommandResult> {
  const email = checkEmail(address)
  const name = options.name === undefined ? {} : { name: checkName(options.name) }
  if (options.renew && options.name !== undefined)
    throw usageError('--renew keeps the name; leave out --name.')
  const invite = async (deps: FlowDeps): Promise<CommandResult> => {
    const asked = options.renew
      ? renewInvitation(deps, { email }, { kind: 'cli' })
      : inviteUser(deps, { email, ...name }, { kind: 'cli' })
    const { user, link } = await asked.catch((error: unknown) => {
      throw inOtherWords(error, email)
    })
    return {
      value: { user_id: user.id, account_id: user.account_id, enroll_url: link.url },
      text: [
        `${options.renew ? 'New link for' : 'Invited'} ${user.email} (${user.id}, account ${user.account_id}).`,
        'Send them this one-time link; it is shown only now and lets whoever opens it first enrol:',
        '',
        `  ${link.url}`,
        '',
        `It is good until ${link.expires_at.toISOString()}.`,
      ].join('\n'),
    }
  }
  return withService(options.json, invite, { fresh: !options.renew })
}

function inOtherWords(error: unknown, email: string): unknown {
  if (!(error instanceof Refusal)) return error
  if (error.code === 'email_taken')
    return new CliError(error.code, `${email} exists already; for a new link add --renew.`)
  if (error.code === 'not_found')
    return new CliError(
      'user_not_found',
      `Nobody has the address ${email}; to invite them leave out --renew.`,
    )
  return error
}
