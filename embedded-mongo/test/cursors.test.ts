import { expect, it } from 'vitest'
import { type CursorRequest, Cursors } from '../src/engine/cursors.ts'
import type { Steps } from '../src/engine/slice.ts'

const DOCUMENT = new Uint8Array(5)
const MINUTE_MS = 60_000

function request(changes: Partial<CursorRequest> = {}): CursorRequest {
  return { namespace: 'test.items', session: undefined, batchSize: 1, idled: () => undefined, ...changes }
}

function done<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** Opens one over two documents, of which the first is its first batch. */
function open(cursors: Cursors, now = 0, changes: Partial<CursorRequest> = {}) {
  return done(cursors.open([DOCUMENT, DOCUMENT], request(changes), now)).id
}

const next = (cursors: Cursors, id: ReturnType<typeof open>, now = 0, changes: Partial<CursorRequest> = {}) =>
  cursors.getMore(id, request(changes), now)

const refused = (code: number) => expect.objectContaining({ code })

it('is read on only under its own namespace and session, and by one at a time', () => {
  const cursors = new Cursors()
  const id = done(cursors.open([DOCUMENT, undefined, DOCUMENT], request({ session: 'mine' }), 0)).id
  expect(() => done(next(cursors, id, 0, { session: 'mine', namespace: 'test.others' }))).toThrow(refused(13))
  expect(() => done(next(cursors, id, 0, { session: 'theirs' }))).toThrow(refused(13))
  const reading = next(cursors, id, 0, { session: 'mine' })
  reading.next()
  expect(() => done(next(cursors, id, 0, { session: 'mine' }))).toThrow(refused(235))
  expect(done(reading).documents).toEqual([DOCUMENT])
})

it('ends after ten idle minutes, and with its collection', () => {
  const cursors = new Cursors()
  const [idle, read, dropped] = [open(cursors), open(cursors), open(cursors, 0, { namespace: 'test.gone' })]
  cursors.killNamespaces((namespace) => namespace === 'test.gone')
  expect(() => done(next(cursors, dropped, 0, { namespace: 'test.gone' }))).toThrow(refused(43))
  done(next(cursors, read, 5 * MINUTE_MS))
  cursors.expire(10 * MINUTE_MS + 1)
  expect(() => done(next(cursors, idle, 10 * MINUTE_MS + 1))).toThrow(refused(43))
  expect(done(next(cursors, read, 10 * MINUTE_MS + 1)).documents).toEqual([])
})

it('gives way where a thousand are open, if it is the one idle longest', () => {
  const cursors = new Cursors()
  const ids = Array.from({ length: 1000 }, (_, index) => open(cursors, index === 500 ? 0 : index + 1))
  open(cursors, 2000)
  const gone = ids.filter((id) => !cursors.kill(id))
  expect(gone).toEqual([ids[500]])
})
