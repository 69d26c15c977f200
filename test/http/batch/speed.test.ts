import { afterAll, beforeAll, expect, it } from 'vitest'
import { approve, BATCH, proveBatch } from '../../support/batches.ts'
import { expectStatus } from '../../support/enrolled.ts'
import { ask, decideByPasskey, type LiveSetting, setUpOwner } from '../../support/live.ts'
import { addKey } from '../../support/people.ts'
import { startService, type TestService } from '../../support/service.ts'

const MANY = 50
/** Enough to tell what one takes. */
const SINGLE = 20

let service: TestService
let setting: LiveSetting

beforeAll(async () => {
  service = await startService()
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

/** Milliseconds it takes, and how often the service answered somebody else meanwhile. */
async function timed(run: () => Promise<unknown>): Promise<{ ms: number; answers: number }> {
  let over = false
  let answers = 0
  const others = (async () => {
    while (!over) {
      expect((await fetch(`${service.url}/healthz`)).status).toBe(200)
      answers += 1
    }
  })()
  const start = performance.now()
  await run()
  const ms = Math.round(performance.now() - start)
  over = true
  await others
  return { ms, answers }
}

it(`decides ${MANY} in less time than as many single decisions take, and answers others meanwhile`, async () => {
  const [single, together] = [await askFor(SINGLE), await askFor(MANY)]
  const lone = await timed(async () => {
    for (const id of single) expectStatus(await decideByPasskey(setting, id, 'approved'), 200)
  })
  const batch = await timed(async () => {
    const proven = await proveBatch(service, setting.owner, approve(...together))
    const { data } = expectStatus(await setting.owner.browser.post(BATCH, proven), 200)
    expect(data.filter(({ status }: { status: string }) => status === 'approved')).toHaveLength(MANY)
  })
  const ratio = batch.ms / MANY / (lone.ms / SINGLE)
  console.log({ batch, lone, ratio: ratio.toFixed(2) })
  expect(ratio).toBeLessThan(1)
  expect(batch.answers).toBeGreaterThan(5)
})
