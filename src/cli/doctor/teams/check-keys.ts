import { readTokenKeys } from '../../../../adapters/teams/token-keys.ts'
import { redact } from '../../../log.ts'
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
    const reason = String(redact(error instanceof Error ? error.message : String(error))).slice(0, 200)
    return fail(NAME, `cannot be read: ${reason}`, `Let this machine reach ${openIdUrl} directly.`)
  }
}
