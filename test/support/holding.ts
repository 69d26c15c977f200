import { stored } from './caller.ts'
import type { TestService } from './service.ts'

/** The names of the collections that hold this text anywhere. */
export async function holding(service: TestService, text: string): Promise<string[]> {
  const names = (await service.composition.connection.db?.listCollections().toArray()) ?? []
  const holds = async ({ name }: { name: string }) =>
    JSON.stringify(await stored(service, name).find({}).toArray()).includes(text) ? [name] : []
  return (await Promise.all(names.map(holds))).flat().sort()
}
