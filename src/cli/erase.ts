import { eraseRequest } from '../flow/erase/erase-requests.ts'
import { CliError, type CommandResult, oneLine } from './terminal.ts'
import { withService } from './with-service.ts'

export interface EraseOptions {
  dryRun?: boolean
}

const REFUSED = {
  unknown: (id: string) => `There is no request ${oneLine(id)}; see: countersign requests list`,
  pending: (id: string) => `${id} is still pending; withdraw it first, or wait until it expires.`,
  busy: (id: string) =>
    `A running service still has to record ${id} or to hand over its callback; nothing was erased. Start the service, then try again.`,
} as const

/** `countersign erase request`: erases the texts of a finished request. */
export function runEraseRequest(id: string, { dryRun = false }: EraseOptions): Promise<CommandResult> {
  return withService(
    async (deps) => {
      const done = await eraseRequest(deps, id, { kind: 'cli' }, dryRun)
      if (done.refused !== undefined) throw new CliError(`request_${done.refused}`, REFUSED[done.refused](id))
      const { request, erased, deliveries, open_deliveries, cards } = done
      const value = {
        request_id: id,
        erased,
        dry_run: dryRun,
        votes: request.votes.length,
        deliveries,
        open_deliveries,
        cards,
      }
      const again =
        open_deliveries + cards === 0
          ? []
          : [
              `Still to do by a running service: cards to edit ${cards}, deliveries to finish ${open_deliveries}. Run the command again in some minutes: it erases what they leave.`,
            ]
      const counts = `action, context, ${request.votes.length} votes' statements and comments, ${deliveries} deliveries`
      const already = request.erased_at === undefined ? '' : ' Its texts were erased before.'
      const text = dryRun
        ? [`${id} has ${counts} and ${cards} cards to erase; nothing was changed.${already}`]
        : [
            erased
              ? `Erased of ${id}: ${counts}.`
              : `${id} was erased before; deleted ${deliveries} deliveries.`,
            ...again,
            'Its receipts, references and times stay. Copies made before (backups, exports) keep the texts.',
          ]
      return { value, text: text.join('\n') }
    },
    dryRun ? { reads: true } : {},
  )
}
