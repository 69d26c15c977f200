import { inShell } from '../config/secrets.ts'
import type { AccountChannel, Member } from '../domain/account.ts'
import type { ApiKey } from '../domain/api-key.ts'
import type { User } from '../domain/user.ts'
import type { Webhook } from '../domain/webhook.ts'
import type { FlowDeps } from '../flow/deps.ts'
import { type ResetPerson, resetPerson } from '../flow/joining/invite-user.ts'
import { disableWebhooks } from '../flow/webhooks/manage-webhooks.ts'
import type { ChatInstallation } from '../store/chat/chat-installations.ts'
import { type CommandResult, oneLine } from './terminal.ts'
import { namesOfFactors, unknownPerson } from './users.ts'
import { checkEmail, withService } from './with-service.ts'

export interface ResetOptions {
  disableWebhooks?: boolean
}

/** Requests named after a reset, at most. */
const NAMED = 20

/**
 * `countersign user reset`: takes a person's factors and sessions away, when one is lost or stolen or they must not decide, and
 * names what a thief may have added to their account. `--disable-webhooks` also switches off the account's webhooks.
 */
export function runResetUser(address: string, options: ResetOptions): Promise<CommandResult> {
  const email = checkEmail(address)
  return withService(async (deps) => {
    const gone = await resetPerson(deps, { email }, { kind: 'cli' }).catch(unknownPerson(email))
    const { before } = gone
    const owner = { accountId: before.account_id, actor: { kind: 'cli' } } as const
    const off = options.disableWebhooks ? await disableWebhooks(deps, owner) : []
    const stays = await readStays(deps, before)
    const open = await deps.requests.withVoteOf(before.id, NAMED + 1)
    const votes = { open_votes: open.slice(0, NAMED), more_open_votes: open.length > NAMED }
    return {
      value: {
        user_id: before.id,
        email,
        taken: presentTaken(gone),
        webhooks_disabled: off.map(presentWebhook),
        stays: presentStays(stays),
        ...votes,
      },
      text: [
        `Reset ${email} (${before.id}). Removed: ${takenWords(gone)}.`,
        ...votesWords(votes),
        ...off.map((webhook) => `Switched off: ${webhookWords(webhook)}`),
        ...staysWords(stays, email),
        `To sign in and decide again, they need a new sign-in link: countersign user invite ${inShell(email)} --renew`,
        `API keys of their account keep working: countersign key list --owner ${inShell(email)}`,
      ].join('\n'),
    }
  })
}

function presentTaken({ before, sessions, links, pushDevices }: ResetPerson) {
  return {
    passkeys: before.passkeys.map(({ id, name }) => ({ id, name })),
    totp: before.totp !== undefined,
    backup_codes: before.backup_codes.length,
    browsers: before.devices.length,
    push_devices: pushDevices,
    chat: before.chat.length,
    sessions,
    links,
    delegate: before.delegate?.user_id ?? null,
  }
}

function takenWords({ before, sessions, links, pushDevices }: ResetPerson): string {
  const { backup_codes, chat, devices, delegate } = before
  const counted = [
    [backup_codes.length, 'backup code'],
    [devices.length, 'trusted browser'],
    [pushDevices, 'browser with notifications', 'browsers with notifications'],
    [chat.length, 'linked chat account'],
    [sessions, 'session'],
    [links, 'unused sign-in link'],
  ] as const
  const some = counted.flatMap(([n, one, many = `${one}s`]) =>
    n === 0 ? [] : [`${n} ${n === 1 ? one : many}`],
  )
  const all = [...namesOfFactors(before), ...some, ...(delegate === undefined ? [] : ['their delegate'])]
  return all.length === 0 ? 'nothing was there' : all.join(', ')
}

function votesWords({ open_votes, more_open_votes }: { open_votes: string[]; more_open_votes: boolean }) {
  if (open_votes.length === 0) return []
  const named = `${open_votes.join(', ')}${more_open_votes ? ' and more' : ''}`
  return [
    `Their votes still count in pending requests: ${named}. The owner of the account can withdraw these.`,
  ]
}

/** Whatever makes requests, hears of them or decides them after a reset: the account's, not the person's. */
interface Stays {
  webhooks: Webhook[]
  keys: ApiKey[]
  channels: AccountChannel[]
  workspaces: ChatInstallation[]
  members: Member[]
}

async function readStays(deps: FlowDeps, { account_id }: User): Promise<Stays> {
  const [webhooks, keys, account, ...workspaces] = await Promise.all([
    deps.webhooks.activeOf([account_id]),
    deps.apiKeys.list(account_id),
    deps.accounts.find(account_id),
    ...(['slack', 'teams'] as const).map((platform) => deps.installations.ofAccount(platform, account_id)),
  ])
  const { channels = [], members = [] } = account ?? {}
  const live = keys.filter(({ revoked_at }) => revoked_at === null)
  return { webhooks, keys: live, channels, workspaces: workspaces.flat(), members }
}

function presentStays({ webhooks, keys, channels, workspaces, members }: Stays) {
  return {
    webhooks: webhooks.map(presentWebhook),
    api_keys: keys.map(({ id, name }) => ({ id, name })),
    channels: channels.map(({ platform, tenant, channel, name }) => ({ platform, tenant, channel, name })),
    workspaces: workspaces.map(({ platform, tenant, workspace_name }) => ({
      platform,
      tenant,
      name: workspace_name,
    })),
    members: members.map(({ user_id, role, state }) => ({ user_id, role, state })),
  }
}

function presentWebhook({ id, url }: Webhook) {
  return { id, url }
}

/** Names what stays, and how it goes: webhooks by this command, the rest by the owner's own hand. */
function staysWords({ webhooks, channels, workspaces, members }: Stays, email: string): string[] {
  const theirs = [
    ...channels.map(({ platform, channel, name = channel }) => `channel ${oneLine(name)} (${platform})`),
    ...workspaces.map(({ platform, workspace_name }) => `workspace ${oneLine(workspace_name)} (${platform})`),
    ...members.map(({ user_id, role }) => `${role} ${user_id}`),
  ]
  const all = [...webhooks.map(webhookWords), ...theirs]
  if (all.length === 0) return []
  return [
    'Their account keeps these; a thief may have added some:',
    ...all.map((line) => `  ${line}`),
    ...(webhooks.length === 0
      ? []
      : [
          `To switch off all its webhooks, which its owner can undo: countersign user reset ${inShell(email)} --disable-webhooks`,
        ]),
    ...(theirs.length === 0
      ? []
      : ['Its owner removes channels and workspaces under Integrations, and people under Members.']),
  ]
}

function webhookWords({ id, url }: Webhook): string {
  return `webhook ${oneLine(url)} (${id})`
}
