import { given } from '../domain/given.ts'
import { isId } from '../domain/identifier.ts'
import type { Delivery, Webhook } from '../domain/webhook.ts'
import type { FlowDeps } from '../flow/deps.ts'
import {
  listWebhooks,
  readDeadLetters,
  readWebhookLog,
  replayDelivery,
} from '../flow/webhooks/delivery-log.ts'
import { presentDelivery } from '../http/api/deliveries.ts'
import { presentListed } from '../http/api/webhooks.ts'
import { CliError, type CommandResult, inWords, oneLine, table, usageError } from './terminal.ts'
import { accountsOf, findPerson, type PageOptions, readPage, withService } from './with-service.ts'

/** `countersign webhooks list`: lists the webhooks of one account or of all, without their secrets. */
export function runListWebhooks({ owner }: { owner?: string }): Promise<CommandResult> {
  const list = async (deps: FlowDeps): Promise<CommandResult> => {
    const found = []
    for (const account_id of await accountsOf(deps, owner))
      found.push(...(await listWebhooks(deps, account_id)))
    const now = deps.clock.now()
    const data = found.map((one) => ({ ...presentListed(one, now), account_id: one.webhook.account_id }))
    const rows = found.map(({ webhook, last }) => [
      webhook.id,
      webhook.state,
      webhook.account_id,
      webhook.url,
      last === undefined ? '' : `${presentDelivery(last).state}, ${last.created_at.toISOString()}`,
    ])
    return {
      value: { data, next_cursor: null },
      text:
        rows.length === 0
          ? 'No webhooks.'
          : table(['WEBHOOK', 'STATE', 'ACCOUNT', 'URL', 'LAST DELIVERY'], rows),
    }
  }
  return withService(list, { reads: true })
}

export interface DeliveriesOptions extends PageOptions {
  owner?: string
}

/** `countersign webhooks deliveries`: lists the log of a webhook, or what was given up in an account, newest first. */
export function runListDeliveries(
  id: string | undefined,
  options: DeliveriesOptions,
): Promise<CommandResult> {
  const { limit, after } = readPage(options)
  if ((id === undefined) === (options.owner === undefined))
    throw usageError('Name a webhook for its log, or --owner <email> for what was given up in their account.')
  const list = async (deps: FlowDeps): Promise<CommandResult> => {
    const before = after === undefined ? undefined : await findDelivery(deps, after)
    const page = { limit, ...given({ before }) }
    const { deliveries, more } =
      id === undefined
        ? await readDeadLetters(deps, (await findPerson(deps, options.owner ?? '')).account_id, page)
        : await readWebhookLog(deps, (await findWebhook(deps, id)).account_id, id, page)
    const data = deliveries.map(presentDelivery)
    const rows = data.map((one) => [
      one.id,
      one.state,
      one.event_type,
      one.created_at,
      String(one.attempts.length),
      one.attempts.at(-1)?.outcome ?? '',
      one.url,
    ])
    const next = more ? (deliveries.at(-1)?.id ?? null) : null
    const shown = table(['DELIVERY', 'STATE', 'EVENT', 'CREATED', 'TRIES', 'LAST', 'URL'], rows)
    return {
      value: { data, next_cursor: next },
      text:
        rows.length === 0 ? 'No deliveries.' : `${shown}${next === null ? '' : `\nMore: --after ${next}`}`,
    }
  }
  return withService(list, { reads: true })
}

/** `countersign webhooks replay`: sends a delivery that is at rest once more. */
export function runReplayDelivery(id: string): Promise<CommandResult> {
  return withService(async (deps) => {
    const { account_id } = await findDelivery(deps, id)
    const owner = { accountId: account_id, actor: { kind: 'cli' } } as const
    const replayed = await replayDelivery(deps, owner, id).catch(
      inWords({
        delivery_in_progress: ['delivery_in_progress', `${id} is being sent already.`],
        webhook_gone: ['webhook_gone', `The webhook of ${id} is deleted or switched off.`],
      }),
    )
    return {
      value: presentDelivery(replayed),
      text: `${id} is due; a running service sends it within 10 seconds.`,
    }
  })
}

async function findDelivery({ deliveries }: Pick<FlowDeps, 'deliveries'>, id: string): Promise<Delivery> {
  return known(isId('dlv', id) ? await deliveries.find(id) : undefined, `delivery ${oneLine(id)}`)
}

async function findWebhook({ webhooks }: Pick<FlowDeps, 'webhooks'>, id: string): Promise<Webhook> {
  return known(isId('whk', id) ? await webhooks.find(id) : undefined, `webhook ${oneLine(id)}`)
}

function known<Found>(found: Found | undefined, what: string): Found {
  if (found === undefined)
    throw new CliError('not_found', `There is no ${what}; see: countersign webhooks list`)
  return found
}
