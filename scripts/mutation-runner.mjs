// Vitest's runner, but each test runs once for each mutant that it reaches and no test before it has killed.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { TestRunner } from 'vitest'

const LOG = process.env.MUTATION_LOG ?? ''
/** What one mutant may cost: tests that only pass by it would be run for it all day. */
const MOST_MS = Number(process.env.MUTATION_MOST_MS ?? 20_000)
/** Without end: each test says itself when it is done. */
const TRIES = 1e9

globalThis.$mutation ??= { active: 0, seen: new Set(), steps: 0, made: [] }
const state = globalThis.$mutation
const { setTimeout, clearTimeout, performance } = globalThis
const now = performance.now.bind(performance)
const modules = new Map(JSON.parse(readFileSync(process.env.MUTATION_MODULES ?? '', 'utf8')))
const loaded = new Set()
const spent = new Map()
const killed = new Set()
const known = new Set()
const note = (entry) => appendFileSync(LOG, `${JSON.stringify(entry)}\n`)

for (const line of existsSync(LOG) ? readFileSync(LOG, 'utf8').trim().split('\n') : []) {
  const { event, id } = JSON.parse(line || '{}')
  if (event === 'killed') killed.add(id)
}

// biome-ignore lint/style/noDefaultExport: Vitest asks for it.
export default class extends TestRunner {
  async onBeforeRunTask(test) {
    await super.onBeforeRunTask(test)
    note({ event: 'loaded', ids: [...state.seen].filter((id) => !known.has(id)) })
    for (const { from, to } of state.made) for (let id = from; id < to; id += 1) loaded.add(id)
    for (const id of state.seen) known.add(id)
    test.retry = { count: TRIES, condition: () => this.more }
    this.phase = 'record'
  }

  onBeforeTryTask(test) {
    super.onBeforeTryTask(test)
    if (this.phase === 'record') state.seen.clear()
    state.steps = 0
    this.started = now()
    state.active = this.phase === 'mutant' ? this.queue[0] : 0
    this.undo = []
    if (state.active !== 0) {
      note({ event: 'tries', id: state.active })
      makeAnew(state.active, this.undo)
    }
  }

  async runTask(test) {
    if (this.phase !== 'mutant') return TestRunner.getTestFn(test)()
    let late
    const tooLong = new Promise((_, reject) => {
      late = setTimeout(() => reject(new Error('too long')), 3_000 + 8 * this.usual)
    })
    await Promise.race([TestRunner.getTestFn(test)(), tooLong]).finally(() => clearTimeout(late))
  }

  onAfterRetryTask(test) {
    const failed = test.result.state === 'fail'
    const words = String(test.result.errors?.[0]?.message ?? '').slice(0, 100)
    // Whatever goes wrong in here, the test must come to its end.
    this.more = false
    try {
      this.more = this.after(failed, words, test)
    } finally {
      state.active = 0
      for (const back of this.undo) back()
      if (!this.more) state.seen.clear()
      test.result.state = this.more ? 'fail' : 'pass'
      // Without an error there is no other try.
      test.result.errors = this.more ? [new Error('the next one')] : undefined
    }
  }

  /** A constant's use is not seen: who uses its module may use it, and a quick test may try. */
  reached(test, ms) {
    const rooms = new Set([...state.seen].map((id) => modules.get(id)))
    const own = test.file.name.replace(/^test\/|\.test\.ts$/g, '')
    const may = [...loaded].filter((id) => ms < 20 || rooms.has(modules.get(id)) || modules.get(id) === own)
    return new Set([...state.seen, ...may])
  }

  /** @returns whether the test runs once more */
  after(failed, words, test) {
    const ms = now() - this.started
    if (this.phase === 'record') {
      if (failed) return false
      this.usual = ms
      this.queue = [...this.reached(test, ms)].filter(
        (id) => modules.has(id) && !killed.has(id) && (spent.get(id) ?? 0) < MOST_MS,
      )
      for (const id of state.seen) known.add(id)
      note({ event: 'reached', ids: [...state.seen] })
      this.phase = 'mutant'
      return this.queue.length > 0
    }
    if (this.phase === 'mutant') {
      const id = this.queue.shift()
      spent.set(id, (spent.get(id) ?? 0) + ms)
      if (!failed) return this.queue.length > 0
      this.suspect = { event: 'killed', id, by: `${test.file.name} > ${test.name}`, words }
      this.phase = 'control'
      return true
    }
    // A mutant may leave something behind by which the test fails without it, too: then it has killed nothing.
    if (failed) return false
    killed.add(this.suspect.id)
    note(this.suspect)
    this.phase = 'mutant'
    return this.queue.length > 0
  }
}

/** Makes the constant that the mutant is in anew, and what is made of it; `undo` gets what takes that back. */
function makeAnew(id, undo) {
  const dirty = new Set()
  for (const { name, from, to, uses, remake } of state.made) {
    if (!(from <= id && id < to) && !uses.some((one) => dirty.has(one))) continue
    dirty.add(name)
    undo.unshift(remake())
  }
}
