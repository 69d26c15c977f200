import { given } from '../../domain/given.ts'
import { type Hearing, volumeWords } from '../../domain/hearing.ts'
import type { User } from '../../domain/user.ts'
import type { FlowDeps } from '../deps.ts'
import { changeFresh, personAudit } from '../people/person.ts'

/** What to change; null takes the person's own choice away. */
type Wanted = { [field in keyof Hearing]?: Hearing[field] | null }

/** Writes what the person chose to be told. It silences no news about their own factors, so it needs no proof. */
export async function changeHearing(
  deps: FlowDeps,
  person: User,
  wanted: Wanted,
  address: string,
): Promise<User> {
  if (Object.keys(wanted).length === 0) return person
  return changeFresh(deps.users, person.id, (user) => {
    const { volumes, quiet_hours } = { ...user.hearing, ...wanted }
    const hearing: Hearing = given({ volumes: volumes ?? undefined, quiet_hours: quiet_hours ?? undefined })
    const { from = '', to = '', time_zone = '' } = hearing.quiet_hours ?? {}
    const detail = given({
      volumes: hearing.volumes && volumeWords(hearing.volumes),
      quiet_hours: hearing.quiet_hours && `${from} to ${to}, ${time_zone}`,
    })
    return { fields: { hearing }, audit: [personAudit(deps, 'user.changed', user, { address, detail })] }
  })
}

/** Has a test sent to the person's chat accounts, by the way of every notice to them. */
export async function testChat({ users, ...deps }: FlowDeps, person: User, address: string): Promise<void> {
  await users.addAudit(
    person.id,
    personAudit({ users, ...deps }, 'notifications.tested', person, { address }),
  )
}
