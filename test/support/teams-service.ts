import { randomUUID } from 'node:crypto'
import { onTestFinished } from 'vitest'
import type { User } from '../../src/domain/user.ts'
import { addPerson } from './people.ts'
import { type ServiceOptions, startService, type TestService } from './service.ts'
import {
  type ConnectorOptions,
  startTeamsConnector,
  type TeamsConnector,
  type TeamsPerson,
} from './teams-connector.ts'
import { createTeamsDriver, type TeamsDriver } from './teams-driver.ts'
import { startTeamsIdentity, type TeamsIdentity } from './teams-identity.ts'

/** A whole service with Teams, and everything it believes to be Microsoft. */
export interface TeamsSetting {
  service: TestService
  identity: TeamsIdentity
  connector: TeamsConnector
  driver: TeamsDriver
  tenantId: string
  appId: string
  people: TeamsPerson[]
  channel: string
  group: string
}

export interface TeamsOptions extends Pick<ServiceOptions, 'work' | 'env'> {
  /** Activities without a token are believed, as with a local test client. */
  unauthenticated?: boolean
  /** How many people the tenant has; `person-1@example.com` and so on. */
  people?: number
  connector?: Partial<Pick<ConnectorOptions, 'largest' | 'strict' | 'open'>>
}

export const TEAMS_PASSWORD = 'a-client-secret~of.the_bot'

/** Starts all of it; close it with `close`, in that order. */
export async function startTeams(
  options: TeamsOptions = {},
): Promise<TeamsSetting & { close(): Promise<void> }> {
  const [appId, tenantId] = [randomUUID(), randomUUID()]
  const channel = `19:${randomUUID().replaceAll('-', '')}@thread.tacv2`
  const group = '19:meeting_abc@thread.v2'
  const people = Array.from({ length: options.people ?? 3 }, (_, index) => personOf(index + 1))
  const identity = await startTeamsIdentity({ appId, appPassword: TEAMS_PASSWORD, tenantId })
  const connector = await startTeamsConnector({
    identity,
    tenantId,
    people,
    channels: [channel],
    groups: [group],
    ...options.connector,
  })
  const service = await startService({
    work: options.work ?? false,
    env: {
      ...(options.unauthenticated
        ? { TEAMS_ALLOW_UNAUTHENTICATED: '1' }
        : { TEAMS_APP_ID: appId, TEAMS_APP_PASSWORD: TEAMS_PASSWORD }),
      TEAMS_TENANT_ID: tenantId,
      TEAMS_OPENID_URL: identity.openIdUrl,
      TEAMS_LOGIN_URL: identity.loginUrl,
      TEAMS_SERVICE_HOSTS: connector.host,
      ...options.env,
    },
  })
  const driver = createTeamsDriver({ url: service.url, identity, connector, tenantId })
  const close = async (): Promise<void> => {
    await service.close()
    await connector.close()
    await identity.close()
  }
  return { service, identity, connector, driver, tenantId, appId, people, channel, group, close }
}

/** One that ends with the test. */
export async function useTeams(options: TeamsOptions = {}): Promise<TeamsSetting> {
  const setting = await startTeams(options)
  onTestFinished(() => setting.close())
  return setting
}

function personOf(n: number): TeamsPerson {
  return { id: randomUUID(), name: `Person ${n}`, email: `Person-${n}@Example.com` }
}

/** The n-th person of the tenant (from 1). */
export function personNumber({ people }: Pick<TeamsSetting, 'people'>, n: number): TeamsPerson {
  const person = people[n - 1]
  if (person === undefined) throw new Error(`no person ${n}`)
  return person
}

/** A person of Countersign who is the n-th of the tenant: known by e-mail, and linked if asked for. */
export async function addTeamsUser(setting: TeamsSetting, n: number, linked: boolean): Promise<User> {
  const user = await addPerson(setting.service, `person-${n}@example.com`)
  if (linked) await linkTo(setting, user, personNumber(setting, n))
  return user
}

/** Links as the signed-in person would. */
export async function linkTo(
  { service, tenantId }: Pick<TeamsSetting, 'service' | 'tenantId'>,
  user: Pick<User, 'id'>,
  person: TeamsPerson,
): Promise<void> {
  const { users, clock } = service.composition.deps
  const stored = await users.find(user.id)
  if (stored === undefined) throw new Error('no such person')
  const identity = { platform: 'teams', tenant: tenantId, user: person.id, linked_at: clock.now() } as const
  const changed = await users.change(user.id, stored.version, { chat: [...stored.chat, identity] }, [])
  if (changed === undefined) throw new Error('somebody else wrote')
}
