import type { Command } from 'commander'
import { answers, examples } from './command.ts'
import { runCompletion, SHELLS } from './completion.ts'
import type { ListRequestsOptions } from './requests.ts'
import type { DeliveriesOptions } from './webhooks.ts'

const load = {
  requests: () => import('./requests.ts'),
  webhooks: () => import('./webhooks.ts'),
}

const OWNER = ['--owner <email>', 'only those of the account of this person'] as const

/** Adds the commands by which an operator looks at the contents of the store. */
export function addOperatorCommands(program: Command): void {
  addRequestCommands(program.command('requests').description('look at requests, and withdraw them'))
  addWebhookCommands(program.command('webhooks').description('look at deliveries, and send them again'))
  const completion = program
    .command('completion <shell>')
    .description(`print a script that completes commands: ${SHELLS.join(', ')}`)
  examples(completion, 'countersign completion bash > /etc/bash_completion.d/countersign')
  answers(completion, (_options, shell) => runCompletion(shell, program))
}

function addRequestCommands(requests: Command): void {
  examples(
    requests,
    'countersign requests list --status pending',
    'countersign requests show req_0123456789abcdefghjkmnpqrs',
  )
  answers<ListRequestsOptions>(
    paged(requests.command('list').description('list requests, newest first'))
      .option(...OWNER)
      .option('--status <status>', 'pending, approved, rejected or expired'),
    async (options) => (await load.requests()).runListRequests(options),
  )
  answers(
    requests.command('show <request_id>').description('show a request: content, approvers, votes'),
    async (_options, id) => (await load.requests()).runShowRequest(id),
  )
  answers(
    requests.command('cancel <request_id>').description('withdraw a pending request'),
    async (_options, id) => (await load.requests()).runCancelRequest(id),
  )
}

function addWebhookCommands(webhooks: Command): void {
  examples(webhooks, 'countersign webhooks deliveries --owner ann@example.com')
  answers<{ owner?: string }>(
    webhooks
      .command('list')
      .description('list the webhooks of accounts')
      .option(...OWNER),
    async (options) => (await load.webhooks()).runListWebhooks(options),
  )
  answers<DeliveriesOptions>(
    paged(
      webhooks
        .command('deliveries [webhook_id]')
        .description('list the log of a webhook, or what was given up, callbacks too, in an account'),
    ).option('--owner <email>', 'what was given up in the account of this person'),
    async (options, id) => (await load.webhooks()).runListDeliveries(id, options),
  )
  answers(
    webhooks.command('replay <delivery_id>').description('send a delivery again that was sent or given up'),
    async (_options, id) => (await load.webhooks()).runReplayDelivery(id),
  )
}

/** Adds the options of a list that comes in pages. */
function paged(command: Command): Command {
  return command
    .option('--limit <n>', 'number of entries, at most (default: 50)')
    .option('--after <id>', 'only entries after this one, the last of the page before')
}
