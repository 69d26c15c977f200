/*
 * One table of hostile conditions through every adapter of an agents' host, in whichever language.
 *
 * How an adapter takes part: write a *host program* that runs the adapter with a mock model, and a test file that names it:
 *
 *   hostileTable({ name: 'LangGraph (Python)', command: ['python3', '/…/langgraph_host.py'], without: {…} })
 *
 * The host program reads one JSON object a line from stdin until that ends, and writes one a line to stdout (other lines are
 * ignored; stderr is shown if a row fails). Several runs may be under way at once, and each has an `id` that its lines carry.
 *
 * In:  {"do":"run", "id", "url", "key",       the service, through a network on which answers are lost; the API key
 *       "run",                                the name of the run, the first half of `for`
 *       "turns": [[{"id", "arguments": {"order", "amount"}}]],
 *                                             what the mock model does: in each turn it calls the tool `refund` so many times in
 *                                             one message, under these call ids; after the last turn it says goodbye
 *       "state",                              a file, absent at first. A host that keeps a snapshot (history, checkpoint, state of
 *                                             the run) between the model's call and the tool keeps it there; if the file is
 *                                             there when a run begins, the run goes on from it
 *       "patience": {"withinSeconds"?, "unreachableAfterSeconds"?},   for the tool and the client, as they are
 *       "fields": {…},                        further fields of the request, beside the adapter's own
 *       "hold": true,                         the tool says `ran`, and then hangs for ever
 *       "verdict": "mistyped"}                the host's own approval step gets an answer that it does not know
 *      {"do":"change", "id", "order"}         puts another order into the argument objects of the calls under way, in place
 * Out: {"id", "event":"ran", "arguments"}     the tool's body was reached, with these arguments; before it does anything
 *      {"id", "event":"told", "call", "text"} what the model is told about that call; the tool itself says "refunded <order>"
 *      {"id", "event":"ended", "error"?}      the run is over; `error` where the host itself failed
 *
 * A host program may be killed by SIGKILL at any time and started again with the same run. A row that cannot apply to a host is
 * named in `without`, with the reason, and is then reported as skipped; one in which the host itself does something else, in `differs`.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { htmlPage, type Mishap } from '../../packages/client/test/bad-network.ts'
import { CONSUME, CREATE } from '../../packages/client/test/hostile-setting.ts'
import { type RealService, startRealService } from '../../packages/client/test/real-service.ts'
import { ACME, call, Host, OTHER, openScene, type Refund, type RunOptions, type Scene } from './scene.ts'

/** A host of agents with the adapter in it. */
export interface HostUnderTest {
  name: string
  /** Program and arguments that start the host program. */
  command: readonly string[]
  env?: Record<string, string>
  /** Why none of it can run here. */
  skip?: string | undefined
  /** Rows that do not apply, each with its reason. */
  without?: Partial<Record<RowName, string>>
  /** What the host itself does otherwise in a row. */
  differs?: Partial<Record<RowName, Partial<Row> & { because: string }>>
}

const FOREIGN = '6666'

/** What the model is told: no host may add "please try again" to it; some put the kind of the error before it. */
const notDone = (words: RegExp) => new RegExp(`^(?:\\w+: |::error::)?Not done: ${words.source}$`)
export const DONE = /^refunded \d+$/
export const REJECTED = notDone(/a person rejected this and wrote "no"\. Do not .*; tell the user\./)
const AWAY = notDone(/the approval service cannot be reached.*Repeat the same call later\./)
const USED = notDone(/this approval was used before, so it may have been done\..*new call\./)
const UNDECIDED = notDone(/nobody has decided yet, which is no refusal\..*repeat the same call later\./)
const OTHERWISE = notDone(/this is not what the person was asked\. Ask in a new call\./)
const NO_PERSON = notDone(/no person decides about this sandbox key\..*\./)

/** What happens, and what must have come of it. */
interface Row {
  play(on: Scene): Promise<void>
  /** With which arguments the tool ran, in all processes together. */
  ran: Refund[]
  /** What the model was told: of each run, by the calls' ids. */
  told: RegExp[]
  inAnyOrder?: true
  /** What became of the requests at the service, by what they ask. */
  requests: ('approved' | 'rejected' | 'pending')[]
  /** With what the host itself ends a run. */
  errors?: RegExp[]
  sandbox?: boolean
}

/** Where a decision comes back. */
const ANSWER = /\/request\b|\/wait\?|\/req_\w+$/

/** An answer that says something else about a request that is decided. */
function altered(change: object): Mishap {
  return (text) => {
    const { approval, ...answer } = JSON.parse(text)
    if (approval) return JSON.stringify({ ...answer, approval: { ...approval, ...change } })
    return JSON.stringify(answer.decision ? { ...answer, ...change } : answer)
  }
}

const twice = (mishap: Mishap): Mishap[] => [mishap, mishap]
const always = (mishap: Mishap): Mishap[] => Array(200).fill(mishap)
const shortly = { patience: { unreachableAfterSeconds: 1 } }

export async function approved(on: Scene, options?: RunOptions): Promise<void> {
  on.start(options)
  await on.decide(ACME.order, 'approved')
  await on.ended()
}

export async function startWithChangedSnapshot(on: Scene): Promise<void> {
  on.start()
  await on.asked()
  await on.kill()
  await on.decide(ACME.order, 'approved')
  const snapshot = await readFile(on.state(), 'utf8')
  expect(snapshot).toContain(ACME.order)
  await writeFile(on.state(), snapshot.replaceAll(ACME.order, FOREIGN))
  on.start()
}

const ROWS = {
  'a person approves': { play: approved, ran: [ACME], told: [DONE], requests: ['approved'] },
  'a person rejects': {
    async play(on) {
      on.start()
      await on.decide(ACME.order, 'rejected')
      await on.ended()
    },
    ran: [],
    told: [REJECTED],
    requests: ['rejected'],
  },
  'the answer to create is lost': {
    async play(on) {
      on.network.spoil(CREATE, ...twice('lose'))
      await approved(on)
    },
    ran: [ACME],
    told: [DONE],
    requests: ['approved'],
  },
  'the answer to consume is lost': {
    async play(on) {
      on.network.spoil(CONSUME, ...twice('lose'))
      await approved(on)
    },
    ran: [ACME],
    told: [DONE],
    requests: ['approved'],
  },
  'the service is killed and started again between ask and decision': {
    async play(on) {
      on.start()
      await on.asked()
      await on.service.restart('SIGKILL')
      await on.decide(ACME.order, 'approved')
      await on.ended()
    },
    ran: [ACME],
    told: [DONE],
    requests: ['approved'],
  },
  'the agent is killed between ask and decision, and started again': {
    async play(on) {
      on.start()
      await on.asked()
      await on.kill()
      await on.decide(ACME.order, 'approved')
      await on.run()
    },
    ran: [ACME],
    told: [DONE],
    requests: ['approved'],
  },
  'the agent is killed between approval and consume, and started again': {
    async play(on) {
      on.network.spoil(CONSUME, 'never')
      on.start()
      await on.decide(ACME.order, 'approved')
      await on.seen(CONSUME)
      await on.kill()
      await on.run()
    },
    ran: [ACME],
    told: [DONE],
    requests: ['approved'],
  },
  'the agent is killed between consume and tool, and started again': {
    async play(on) {
      on.network.spoil(CONSUME, 'hang')
      on.start()
      await on.decide(ACME.order, 'approved')
      await on.consumed()
      await on.kill()
      await on.run()
    },
    ran: [],
    told: [USED],
    requests: ['approved'],
  },
  'the agent is killed inside the tool, and started again': {
    async play(on) {
      on.start({ hold: true })
      await on.decide(ACME.order, 'approved')
      await on.ran()
      await on.kill()
      await on.run()
    },
    ran: [ACME],
    told: [USED],
    requests: ['approved'],
  },
  'the arguments change in memory after the ask': {
    async play(on) {
      on.start()
      await on.asked()
      on.change(FOREIGN)
      await on.decide(ACME.order, 'approved')
      await on.ended()
    },
    ran: [ACME],
    told: [DONE],
    requests: ['approved'],
  },
  'the snapshot changes after the ask': {
    async play(on) {
      await startWithChangedSnapshot(on)
      // The approval is for something else: a person is asked about what would run now.
      await on.decide(FOREIGN, 'rejected')
      await on.ended()
    },
    ran: [],
    told: [REJECTED],
    requests: ['approved', 'rejected'],
  },
  'the host’s own approval step answers with a mistyped verdict': {
    async play(on) {
      on.start({ verdict: 'mistyped' })
      await on.decide(ACME.order, 'rejected')
      await on.ended()
    },
    ran: [],
    told: [REJECTED],
    requests: ['rejected'],
  },
  'the service answers with a mistyped verdict': {
    async play(on) {
      on.network.spoil(ANSWER, ...always(altered({ status: 'aproved' })))
      await approved(on)
    },
    ran: [],
    told: [AWAY],
    requests: ['approved'],
  },
  'the answer is the receipt of another request': {
    async play(on) {
      on.network.spoil(ANSWER, ...always(altered({ id: 'req_other' })))
      await approved(on)
    },
    ran: [],
    told: [AWAY],
    requests: ['approved'],
  },
  'the answer is an approval of other arguments': {
    async play(on) {
      on.network.spoil(ANSWER, ...always(altered({ context: { tool: 'refund', arguments: OTHER } })))
      await approved(on)
    },
    ran: [],
    told: [OTHERWISE],
    requests: ['approved'],
  },
  'two parallel calls, one rejected': {
    async play(on) {
      on.start({ turns: [[call(ACME, 'call-1'), call(OTHER, 'call-2')]] })
      await on.asked(2)
      await on.decide(OTHER.order, 'rejected')
      await on.decide(ACME.order, 'approved')
      await on.ended()
    },
    ran: [ACME],
    told: [DONE, REJECTED],
    requests: ['approved', 'rejected'],
  },
  'two parallel calls, equal in all but the id': {
    async play(on) {
      on.start({ turns: [[call(ACME, 'call-1'), call(ACME, 'call-2')]] })
      // One that asks after the approval was used makes a request of its own.
      await on.asking(2)
      await on.decide(ACME.order, 'approved')
      await on.ended()
    },
    ran: [ACME],
    told: [DONE, USED],
    inAnyOrder: true,
    requests: ['approved'],
  },
  'two calls under one id, with other arguments': {
    async play(on) {
      on.start({ turns: [[call(ACME)], [call(OTHER)]] })
      await on.decide(ACME.order, 'approved')
      await on.decide(OTHER.order, 'approved')
      await on.ended()
    },
    ran: [ACME, OTHER],
    told: [DONE, DONE],
    requests: ['approved', 'approved'],
  },
  'nobody decides in time; the model repeats the call under a new id': {
    async play(on) {
      await on.run({ patience: { withinSeconds: 1 } })
      await on.decide(ACME.order, 'approved')
      await on.run({ turns: [[call(ACME, 'call-2')]] })
    },
    ran: [ACME],
    told: [UNDECIDED, DONE],
    requests: ['approved'],
  },
  'the service is away at the ask': {
    async play(on) {
      on.network.spoil(CREATE, ...always(htmlPage(502)))
      await on.run(shortly)
    },
    ran: [],
    told: [AWAY],
    requests: [],
  },
  'the service is away between ask and consume; the call is repeated later': {
    async play(on) {
      on.network.spoil(CONSUME, ...always(htmlPage(502)))
      await approved(on, shortly)
      on.network.calm()
      await on.run()
    },
    ran: [ACME],
    told: [AWAY, DONE],
    requests: ['approved'],
  },
  'the sandbox approves': {
    sandbox: true,
    play: (on) => on.run({ fields: { sandbox_decision: 'approved', sandbox_auto_decide_seconds: 0 } }),
    ran: [],
    told: [NO_PERSON],
    requests: ['approved'],
  },
  'an approval is used twice': {
    async play(on) {
      await approved(on)
      await on.run()
    },
    ran: [ACME],
    told: [DONE, USED],
    requests: ['approved'],
  },
} satisfies Record<string, Row>

type RowName = keyof typeof ROWS

/** Runs the table through one host. */
export function hostileTable({ name, command, env, skip, without = {}, differs = {} }: HostUnderTest): void {
  describe(name, () => {
    const host = new Host(command, env)
    let service: RealService
    beforeAll(async () => {
      if (!skip) service = await startRealService()
    })
    afterAll(async () => {
      await host.kill()
      await service?.close()
    })
    for (const [title, usual] of Object.entries<Row>(ROWS)) {
      const { because, ...other } = differs[title as RowName] ?? {}
      const row = { ...usual, ...other }
      const reason = skip ?? without[title as RowName]
      it.skipIf(reason)(
        [title, reason && `not run: ${reason}`, because].filter(Boolean).join('; '),
        async () => {
          const { scene, left } = await openScene(service, host, row.sandbox)
          await row.play(scene)
          const { told, ...rest } = await left()
          if (row.inAnyOrder) told.sort().reverse()
          expect({ ...rest, told }).toEqual({
            ran: row.ran,
            told: row.told.map((words) => expect.stringMatching(words)),
            requests: row.requests,
            errors: (row.errors ?? []).map((words) => expect.stringMatching(words)),
          })
        },
      )
    }
  })
}
