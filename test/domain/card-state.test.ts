import { describe, expect, it } from 'vitest'
import { notReachable, standingOf } from '../../src/domain/card-standing.ts'
import {
  afterCall,
  aimOf,
  type CardAim,
  type CardAnswer,
  type CardCall,
  type CardPlace,
  type CardState,
  cardState,
  cardStepAfter,
  hasMessage,
  type LostPost,
  mayBeOvertaken,
  nextMove,
  probeStep,
  sortReplies,
} from '../../src/domain/card-state.ts'
import type { Card, CardAttempt, CardReply } from '../../src/domain/chat.ts'

const ref = { tenant: 'T1', conversation: 'D1', message: 'm1' }

const refused = { at: new Date(0), what: 'post', outcome: 'unreachable', duration_ms: 1 } as const

function card(more: Partial<Card> = {}): Card {
  return {
    id: 'crd_1',
    account_id: 'acc_a',
    request_id: 'req_1',
    platform: 'slack',
    recipient: { kind: 'approver', user_id: 'usr_a' },
    state: 'idle',
    wanted: 2,
    shown: 2,
    replies: [],
    news: 0,
    next_at: new Date(0),
    tries: 0,
    fence: 0,
    attempts: [],
    created_at: new Date(0),
    audit: [],
    ...more,
  }
}

/** All members of a union: one that is missing here does not compile. */
const all = <Member extends string>(members: Record<Member, true>) => Object.keys(members) as Member[]

const AIMS = all<CardAim>({ ask: true, remind: true, tell: true, owe: true, close: true, hush: true })
const PLACES = all<CardPlace>({
  unposted: true,
  missing: true,
  deleted: true,
  elsewhere: true,
  behind: true,
  fixed: true,
  shown: true,
})
const LOST = all<LostPost>({ none: true, perhaps: true, unfindable: true })
const CALLS = all<CardCall>({ search: true, post: true, clear: true, edit: true, reply: true })
const ANSWERS = all<CardAnswer>({
  accepted: true,
  gone: true,
  unknown: true,
  refused: true,
  passing: true,
  failed: true,
  lost: true,
})
const STATES = PLACES.flatMap((place) => LOST.map((lost): CardState => ({ place, lost })))
const isCall = (move: string): move is CardCall => CALLS.some((one) => one === move)

describe('the machine of a card', () => {
  it('moves so from every state, whatever the request wants', () => {
    const rows = STATES.map(({ place, lost }) => [
      `${place} ${lost}`,
      AIMS.map((aim) => nextMove({ place, lost }, aim)).join(' '),
    ])
    const nowhere = { perhaps: 'search search search search search search' }
    const told = { unfindable: 'post post post post post settle', ...nowhere }
    const before = Object.entries({
      unposted: { none: 'post post post settle settle settle', ...told },
      missing: { none: 'post post post post settle settle', ...told },
      deleted: {
        none: 'fail post post post fail fail',
        unfindable: 'fail post post post fail fail',
        ...nowhere,
      },
    }).flatMap(([place, by]) => Object.entries(by).map(([lost, moves]) => [`${place} ${lost}`, moves]))
    const standing = Object.entries({
      elsewhere: 'clear clear clear clear clear clear',
      behind: 'edit edit edit edit edit edit',
      fixed: 'fail reply reply reply fail fail',
      shown: 'done reply reply reply done done',
    }).flatMap(([place, moves]) => LOST.map((lost) => [`${place} ${lost}`, moves]))
    expect(Object.fromEntries(rows)).toEqual(Object.fromEntries([...before, ...standing]))
    expect(AIMS).toEqual(['ask', 'remind', 'tell', 'owe', 'close', 'hush'])
  })

  it('changes so after every answer to every call, and stops after all others', () => {
    const changes: Record<CardCall, Partial<Record<CardAnswer, object>>> = {
      search: {
        accepted: { place: 'behind', lost: 'none' },
        gone: { lost: 'none' },
        unknown: { lost: 'unfindable' },
      },
      post: { accepted: { place: 'shown', lost: 'none' }, lost: { lost: 'perhaps', stop: true } },
      clear: {
        accepted: { place: 'unposted' },
        gone: { place: 'unposted' },
        refused: { place: 'unposted' },
        passing: { place: 'unposted' },
      },
      edit: { accepted: { place: 'shown' }, gone: { place: 'deleted' }, refused: { place: 'fixed' } },
      reply: { accepted: {}, gone: { place: 'deleted' }, refused: {} },
    }
    for (const state of STATES)
      for (const call of CALLS)
        for (const answer of ANSWERS)
          expect([state, call, answer, afterCall(state, call, answer)]).toEqual([
            state,
            call,
            answer,
            { ...state, ...(changes[call][answer] ?? { stop: true }) },
          ])
  })

  it('ends after at most seven calls, however the platform answers', () => {
    // A reply that is posted, or that no one can post, is due no more; a card that is posted says what the replies would.
    const said = (aim: CardAim): CardAim =>
      aim === 'remind' ? 'ask' : aim === 'tell' || aim === 'owe' ? 'close' : aim
    const longest = (state: CardState, aim: CardAim, calls: number): number => {
      if (calls > 20) throw new Error(`no end: ${JSON.stringify([state, aim])}`)
      const move = nextMove(state, aim)
      if (!isCall(move)) return calls
      const ends = ANSWERS.map((answer) => {
        const { stop, ...after } = afterCall(state, move, answer)
        const settles =
          (move === 'post' && answer === 'accepted') || (move === 'reply' && after.place === state.place)
        return stop ? calls + 1 : longest(after, settles ? said(aim) : aim, calls + 1)
      })
      return Math.max(...ends)
    }
    for (const aim of AIMS) for (const state of STATES) expect(longest(state, aim, 0)).toBeLessThanOrEqual(7)
  })

  it('posts nothing where nothing is to be said, and nothing beside a message that stands or may be found', () => {
    for (const state of STATES) {
      expect(['post', 'reply']).not.toContain(nextMove(state, 'hush'))
      for (const aim of AIMS) {
        const move = nextMove(state, aim)
        if (hasMessage(state.place) || state.lost === 'perhaps') expect(move).not.toBe('post')
        if (!hasMessage(state.place)) expect(['clear', 'edit', 'reply', 'done']).not.toContain(move)
      }
    }
  })

  const post = (outcome: CardAttempt['outcome']) =>
    ({ at: new Date(0), what: 'post', outcome, duration_ms: 1 }) as const

  it.each<[CardState, Partial<Card>, { interrupted?: true; theirs?: false }?]>([
    [{ place: 'unposted', lost: 'none' }, { attempts: [post('failed')] }],
    [{ place: 'unposted', lost: 'perhaps' }, {}, { interrupted: true }],
    [{ place: 'unposted', lost: 'perhaps' }, { perhaps_posted: true }],
    [{ place: 'missing', lost: 'none' }, { attempts: [post('accepted'), post('failed')] }],
    // Its message was found by a search, and deleted later.
    [{ place: 'missing', lost: 'none' }, { attempts: [post('interrupted'), post('accepted')] }],
    [{ place: 'shown', lost: 'none' }, { message: ref }],
    // Set aside after a restore.
    [
      { place: 'behind', lost: 'none' },
      { message: ref, stale: true, attempts: [post('accepted'), { ...post('interrupted'), what: 'update' }] },
    ],
    [
      { place: 'unposted', lost: 'perhaps' },
      { perhaps_posted: true, attempts: [post('interrupted')] },
    ],
    [
      { place: 'behind', lost: 'none' },
      { message: ref, shown: 1 },
    ],
    [
      { place: 'behind', lost: 'none' },
      { message: ref, stale: true },
    ],
    [{ place: 'behind', lost: 'perhaps' }, { message: ref, shown: 1 }, { interrupted: true }],
    [{ place: 'elsewhere', lost: 'none' }, { message: ref, shown: 1 }, { theirs: false }],
  ])('begins as %j with what is stored', (state, stored, at = {}) => {
    expect(cardState(card(stored), { interrupted: false, theirs: true, ...at })).toEqual(state)
  })

  it('knows of every request what it wants of every recipient', () => {
    const now = new Date(1000)
    const yes = [true, false]
    const rows = ['pending', 'lapsed', 'over'].flatMap((status) =>
      yes.flatMap((concerns) =>
        yes.flatMap((tells) =>
          yes.map((owes) => {
            const subject = {
              status: status === 'over' ? 'approved' : 'pending',
              expires_at: new Date(status === 'lapsed' ? 1000 : 1001),
            }
            return [status, concerns, tells, owes, aimOf(subject, { now, concerns, tells, owes })] as const
          }),
        ),
      ),
    )
    for (const [status, concerns, tells, owes, aim] of rows) {
      const over = owes ? (tells ? 'tell' : 'owe') : 'close'
      const pending = concerns ? (owes ? 'remind' : 'ask') : 'hush'
      expect([status, concerns, tells, owes, aim]).toEqual([
        status,
        concerns,
        tells,
        owes,
        status === 'over' ? over : status === 'lapsed' ? 'hush' : pending,
      ])
    }
  })

  const due = (id: string, kind: CardReply['kind'], at: number): CardReply => ({
    id,
    kind,
    at: new Date(at),
    state: 'due',
  })
  const about = { posted_at: new Date(50), created_at: new Date(40), edited: false, says: () => true }

  it.each<[string, CardReply[], Partial<typeof about> | { posted_at: undefined }, unknown]>([
    [
      'the last of several reminders',
      [due('a', 'reminder', 60), due('b', 'reminder', 61)],
      {},
      ['b', [], ['a']],
    ],
    ['no reminder that the message itself was', [due('a', 'reminder', 50)], {}, [undefined, ['a'], []]],
    [
      'that reminder where the message is gone',
      [due('a', 'reminder', 50)],
      { posted_at: undefined },
      ['a', [], []],
    ],
    ['no decision that the message was posted with', [due('a', 'decided', 45)], {}, [undefined, ['a'], []]],
    ['the decision that only an edit shows', [due('a', 'decided', 45)], { edited: true }, ['a', [], []]],
    ['no decision older than the card', [due('a', 'decided', 40)], { edited: true }, [undefined, ['a'], []]],
    [
      'nothing that has lost its sense',
      [due('a', 'decided', 60)],
      { says: () => false },
      [undefined, [], ['a']],
    ],
  ])('says under a message %s', (_what, replies, more, expected) => {
    const { say, said, dropped } = sortReplies(replies, { ...about, ...more })
    expect([say?.id, said, dropped]).toEqual(expected)
  })

  it.each<[boolean, [CardAttempt['what'], CardAttempt['outcome'], number][]]>([
    [false, [['post', 'accepted', 0]]],
    [
      true,
      [
        ['post', 'accepted', 0],
        ['update', 'timeout', 10],
      ],
    ],
    [
      true,
      [
        ['update', 'interrupted', 95_000],
        ['update', 'accepted', 96_000],
      ],
    ],
    [
      false,
      [
        ['update', 'failed', 10],
        ['update', 'accepted', 20],
      ],
    ],
    [
      false,
      [
        ['update', 'rate_limited', 99_000],
        ['reply', 'timeout', 99_000],
        ['post', 'timeout', 99_000],
      ],
    ],
  ])('expects a late edit to land after another: %s of %j', (late, attempts) => {
    const made = attempts.map(([what, outcome, at]) => ({ what, outcome, at: new Date(at), duration_ms: 1 }))
    expect(mayBeOvertaken(made, new Date(100_000))).toBe(late)
  })
})

describe('a card after a refused call', () => {
  const delays = (most: number, { misleads = false, luck = 0 }) =>
    Array.from({ length: most }, (_, tries) => {
      const step = cardStepAfter('timeout', { tries, misleads, luck })
      expect(step).toMatchObject({ state: 'due', tries: tries + 1, ask_patience: false })
      return 'delay_ms' in step ? step.delay_ms / 1000 : undefined
    })

  it('is tried again after 1 s, 5 s, 30 s, 5 min, and then every 15 min for as long as it takes', () => {
    expect(delays(7, {})).toEqual([1, 5, 30, 300, 900, 900, 900])
    expect(delays(5, { luck: 1 })).toEqual([0.75, 3.75, 22.5, 225, 675])
  })

  it('is tried every 15 s for over an hour as the one that probes, and no more often than it would be otherwise', () => {
    const due = { state: 'due', again_ms: 1_000, ask_patience: false } as const
    const delay_ms = (pause: number, tries: number) => probeStep({ ...due, tries, delay_ms: pause }, tries)
    expect(delay_ms(900_000, 249)).toMatchObject({ delay_ms: 15_000 })
    expect(delay_ms(1_000, 1)).toMatchObject({ delay_ms: 1_000 })
    expect(delay_ms(900_000, 250)).toMatchObject({ delay_ms: 900_000 })
    const unreachable = { ...due, state: 'unreachable', tries: 1, delay_ms: 0 } as const
    expect(probeStep(unreachable, 1)).toEqual(unreachable)
  })

  it('is tried every 5 min while its message asks about what is over', () => {
    expect(delays(7, { misleads: true })).toEqual([1, 5, 30, 300, 300, 300, 300])
  })

  it.each([
    [undefined, 1_000],
    [0, 1_000],
    [30, 30_000],
    [86_400, 3_600_000],
  ])(
    'waits when the platform asks for %s s, at least a second and at most an hour, and lengthens no pause',
    (asked, ms) => {
      const step = { state: 'due', tries: 4, delay_ms: ms, again_ms: ms, ask_patience: true }
      expect(cardStepAfter('rate_limited', { tries: 4, retryAfter: asked, luck: 0 })).toEqual(step)
    },
  )

  it('is asked about again slowly where a refusal may pass, and is unreachable only after a day and a half', () => {
    const pauses = [1, 5, 15, 60, 360, 1440].map((minutes) => minutes * 60_000)
    for (const [tries, delay_ms] of pauses.entries()) {
      const step = cardStepAfter('unreachable', { tries, passing: true, misleads: true, luck: 0 })
      expect(step).toMatchObject({ state: 'due', tries: tries + 1, delay_ms, ask_patience: false })
    }
    const last = cardStepAfter('unreachable', { tries: pauses.length, passing: true, luck: 0 })
    expect(last).toMatchObject({ state: 'unreachable', tries: 1 })
  })

  it('is unreachable at once when trying again would not help, and due at once when its process stops', () => {
    expect(cardStepAfter('unreachable', { tries: 3, luck: 0 })).toMatchObject({
      state: 'unreachable',
      tries: 4,
    })
    expect(cardStepAfter('interrupted', { tries: 3, luck: 0 })).toMatchObject({
      state: 'due',
      tries: 3,
      delay_ms: 0,
    })
  })
})

it.each([
  ['due', card({ state: 'due' })],
  ['sending', card({ state: 'leased' })],
  ['unreachable', card({ state: 'unreachable' })],
  ['shown', card({ message: ref })],
  ['behind', card({ message: ref, shown: 1 })],
  ['not_sent', card()],
] as const)('says that a card is %s', (standing, it) => {
  expect(standingOf(it)).toBe(standing)
})

it('calls people unreachable whose cards were never posted anywhere and are not on their way', () => {
  const of = (user_id: string, more: Partial<Card>) =>
    card({ recipient: { kind: 'approver', user_id }, ...more })
  const cards = [
    of('usr_lost', { state: 'unreachable' }),
    of('usr_lost', { state: 'idle', platform: 'teams' }),
    of('usr_elsewhere', { state: 'unreachable' }),
    of('usr_elsewhere', { state: 'idle', message: ref, platform: 'teams' }),
    of('usr_waiting', { state: 'due' }),
    of('usr_refused', { state: 'due', attempts: [refused] }),
    of('usr_asked', { state: 'due', attempts: [refused], message: ref }),
    // The message was deleted later; the person has seen it.
    of('usr_told', { state: 'unreachable', message: ref }),
    card({ recipient: { kind: 'channel', tenant: 'T1', channel: 'C1' }, state: 'unreachable' }),
  ]
  expect(notReachable(cards)).toEqual(['usr_lost', 'usr_refused'])
})
