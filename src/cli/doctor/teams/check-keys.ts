import { FetchFailure } from '../../../../adapters/teams/fetch-json.ts'
import { readTokenKeys } from '../../../../adapters/teams/token-guard.ts'
import { redact } from '../../../compose/log.ts'
import { type Check, fail, ok } from '../check.ts'

const NAME = 'Keys of Teams'
const CHANNEL = 'msteams'

/** Can we read the keys that activities are checked with? Without them every activity is refused. */
export async function checkKeys(openIdUrl: string): Promise<Check> {
  try {
    const keys = [...(await readTokenKeys(openIdUrl)).values()]
    const endorsed = keys.filter(({ endorsements }) => endorsements.includes(CHANNEL))
    if (endorsed.length > 0) return ok(NAME, `${endorsed.length} of ${keys.length} are endorsed for Teams`)
    const fix = `Something else answers at ${openIdUrl}: a proxy, or a wrong TEAMS_OPENID_URL.`
    return fail(NAME, `none of ${keys.length} is endorsed for Teams`, fix)
  } catch (error) {
    return fail(NAME, whyNot(error), `Let this machine reach ${openIdUrl} directly.`)
  }
}

function whyNot(error: unknown): string {
  if (!(error instanceof FetchFailure)) {
    const reason = redact(error instanceof Error ? error.message : String(error))
    return `cannot be read: ${String(reason).slice(0, 200)}`
  }
  const { status, code } = error
  // The code may be the other side's, and is printed to a terminal.
  const shown = /^[\w.]{1,60}$/.test(code) ? code : 'an unknown error'
  return status === 0 ? `cannot be reached (${shown})` : `cannot be read: status ${status} (${shown})`
}
