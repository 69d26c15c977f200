import { randomBytes } from 'node:crypto'
import type { CommandStartedEvent } from 'mongodb'
import { inject } from 'vitest'
import { databaseUri, type TestService } from './service.ts'

/** For `MONGODB_URI`: a fresh database on a connection that tells of its commands. */
export function toldDatabase(): string {
  const uri = databaseUri(inject('storeUri'), `test_${randomBytes(6).toString('hex')}`)
  return `${uri}${uri.includes('?') ? '&' : '?'}monitorCommands=true`
}

/** Keys, restores and the schema's version are read again every ten seconds, the store's clock every thirty, whatever else happens. */
const BY_THE_CLOCK = new Set([
  'find signing_keys',
  'count signing_keys',
  'find restores',
  'find schema',
  'hello 1',
])

/**
 * What the service asks of its store meanwhile, in order, such as `insert bootstraps`: tells how much work something is, on
 * every machine alike. The service must have been started on a `toldDatabase`.
 */
export async function commandsOf(
  { composition }: TestService,
  work: () => Promise<unknown>,
): Promise<string[]> {
  const client = composition.connection.getClient()
  const commands: string[] = []
  const note = ({ commandName, command }: CommandStartedEvent): void => {
    const asked = `${commandName} ${String(command[commandName])}`
    if (!BY_THE_CLOCK.has(asked)) commands.push(asked)
  }
  client.on('commandStarted', note)
  try {
    await work()
  } finally {
    client.off('commandStarted', note)
  }
  return commands
}
