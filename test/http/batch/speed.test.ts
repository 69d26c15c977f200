import { afterAll, beforeAll, expect, it } from 'vitest'
import { approve, BATCH, proveBatch } from '../../support/batches.ts'
import { expectStatus } from '../../support/enrolled.ts'
import { ask, decideByPasskey, type LiveSetting, setUpOwner } from '../../support/live.ts'
import { addKey } from '../../support/people.ts'
import { startService, type TestService } from '../../support/service.ts'
import { commandsOf, toldDatabase } from '../../support/store-commands.ts'

const MANY = 50
/** Enough to tell what one costs. */
const SINGLE = 20

let service: TestService
let setting: LiveSetting

beforeAll(async () => {
  service = await startService({ env: { MONGODB_URI: toldDatabase() } })
  setting = await setUpOwner(service)
})
afterAll(() => service.close())

/** High impact, quorum of one; with a key of its own, which may ask for 60 a minute. */
async function askFor(count: number): Promise<string[]> {
  const user = await service.composition.deps.users.find(setting.owner.userId)
  const { raw_key } = await addKey(service, user ?? expect.unreachable())
  const ids: string[] = []
  for (let made = 0; made < count; made += 1)
    ids.push(await ask({ service, key: raw_key }, { requires_individual_decision: true }))
  return ids
}

/** How often the service answered somebody else meanwhile. */
async function answersDuring(run: () => Promise<unknown>): Promise<number> {
  let over = false
  let answers = 0
  const others = (async () => {
    while (!over) {
      expect((await fetch(`${service.url}/healthz`)).status).toBe(200)
      answers += 1
    }
  })()
  await run()
  over = true
  await others
  return answers
}

it(`decides ${MANY} with less work each than single decisions are, and answers others meanwhile`, async () => {
  const [single, together] = [await askFor(SINGLE), await askFor(MANY)]
  const lone = await commandsOf(service, async () => {
    for (const id of single) expectStatus(await decideByPasskey(setting, id, 'approved'), 200)
  })
  let answers = 0
  const batch = await commandsOf(service, async () => {
    answers = await answersDuring(async () => {
      const proven = await proveBatch(service, setting.owner, approve(...together))
      const { data } = expectStatus(await setting.owner.browser.post(BATCH, proven), 200)
      expect(data.filter(({ status }: { status: string }) => status === 'approved')).toHaveLength(MANY)
    })
  })
  const each = { lone: lone.length / SINGLE, batch: batch.length / MANY }
  console.log({ ...each, answers })
  expect(each.batch).toBeLessThan(each.lone)
  expect(answers).toBeGreaterThan(5)
})
