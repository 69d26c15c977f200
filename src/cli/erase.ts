import { inShell } from '../config/secrets.ts'
import { isId } from '../domain/identifier.ts'
import { erasePerson, type Left } from '../flow/erase/erase-person.ts'
import { eraseRequest } from '../flow/erase/erase-requests.ts'
import { createRelay, NO_LOOPS } from '../flow/relay/relay.ts'
import { CliError, type CommandResult, oneLine } from './terminal.ts'
import { checkEmail, withService } from './with-service.ts'

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
      const erase = () => eraseRequest(deps, id, { kind: 'cli' }, dryRun)
      const first = await erase()
      // A command or service that died has left something, and no other may be there to hand it on.
      if (first.refused === 'busy') await createRelay(deps, NO_LOOPS).run()
      const done = first.refused === 'busy' ? await erase() : first
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
              `A running service still has to edit ${cards} cards and to finish ${open_deliveries} deliveries. Run the command again in some minutes: it erases these as well.`,
            ]
      const counts = `action, context, ${request.votes.length} votes' statements and comments, ${deliveries} deliveries`
      const already = request.erased_at === undefined ? '' : ' Its texts were erased before.'
      const text = dryRun
        ? [`${id} has ${counts} and ${cards} cards to erase; nothing was changed.${already}`]
        : [
            erased
              ? `${id}: erased ${counts}.`
              : `${id} was erased before; deleted ${deliveries} deliveries.`,
            ...again,
            'Its receipts, references and times stay. Copies made before (backups, exports) keep the texts.',
          ]
      return { value, text: text.join('\n') }
    },
    dryRun ? { reads: true } : {},
  )
}

const NOT_YET = {
  unknown: (whom: string) =>
    `There is no person ${whom}; see: countersign user list. An erased person is found by their id (usr_…) only.`,
  pending: (whom: string, ids: string[]) =>
    `Pending requests concern ${whom}: ${ids.join(', ')}. Have them decided, or withdraw them: countersign requests cancel ${ids[0]}`,
  keys: (whom: string, ids: string[]) =>
    `The account of ${whom} has API keys that still work: ${ids.join(', ')}. Revoke them first: countersign key revoke ${ids[0]}`,
  members: (whom: string, ids: string[]) =>
    `The account of ${whom} has other people in it: ${ids.join(', ')}. Its owner removes them first, under Members.`,
} as const

/** `countersign erase person`: erases everything that names a person. */
export function runErasePerson(address: string, { dryRun = false }: EraseOptions): Promise<CommandResult> {
  const whom = isId('usr', address) ? address : checkEmail(address)
  return withService(
    async (deps) => {
      const done = await erasePerson(deps, whom, { kind: 'cli' }, dryRun)
      if (done.refused === 'unknown') throw new CliError('user_not_found', NOT_YET.unknown(whom))
      if (done.refused !== undefined)
        throw new CliError(`person_${done.refused}`, NOT_YET[done.refused](whom, done.ids))
      const { user, counts, left } = done
      const { requests, votes, cards = 0, sessions = 0, records } = counts
      const erased = user.erased_at !== undefined
      const value = { user_id: user.id, erased, dry_run: dryRun, ...counts, left }
      const all = `${requests} requests of their account, ${votes} votes, ${records} records of the trail`
      if (dryRun)
        return {
          value,
          text: `To erase of ${user.id}: ${all}, ${cards} cards, ${sessions} sessions; nothing was changed.`,
        }
      const text = erased
        ? `Erased ${user.id}: ${all}. Their id, their votes and receipts stay. Their name is still in copies made before (backups, exports), and in requests of others that mention it.`
        : `${user.id} is not erased yet: ${why(left)}. Run the command again in some minutes: countersign erase person ${inShell(whom)}`
      return { value, text }
    },
    dryRun ? { reads: true } : {},
  )
}

function why({ requests, cards, deliveries }: Left): string {
  if (requests + cards + deliveries === 0) return 'they were let in again meanwhile'
  return `a running service still has to hand over ${requests} requests, to edit ${cards} cards and to finish ${deliveries} deliveries`
}
