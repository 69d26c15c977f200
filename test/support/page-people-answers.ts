import type { SessionEntry } from '../../dashboard/account/session-shapes.ts'
import type { Member } from '../../dashboard/members/member-shapes.ts'
import type { Account, Policy } from '../../dashboard/settings/settings-shapes.ts'
import { type RefusalCode, refusal } from '../../src/domain/errors.ts'
import type { overviewAnswer } from '../../src/http/api/overview.ts'
import type { Answer } from '../../src/http/api/shared/fields.ts'
import type { PageArea } from './page-area.ts'
import { SAMPLE_SESSIONS, SAMPLE_USER, sampleReview } from './page-samples.ts'

/** What the server says about people; tests set it. */
export interface PeopleArea extends PageArea {
  members: Member[]
  policy: Policy
  account: Account
  overview: Overview
  sessions: SessionEntry[]
  candidates: { user_id: string; email: string; name: string }[]
  /** Refuses every change. */
  refuse: { code: RefusalCode; details?: { field?: string; detail?: string } } | undefined
  /** `METHOD path` and body of every change, in order. */
  sent: { call: string; body: Record<string, unknown> }[]
}

/** Somebody who joined as an approver. */
export function sampleMember(changes: Partial<Member> = {}): Member {
  return {
    user_id: 'usr_2',
    email: 'bo@example.com',
    name: 'Bo Lind',
    approver: 'aa11bb22cc33dd44',
    role: 'approver',
    state: 'active',
    has_passkey: true,
    has_totp: false,
    invited_at: '2026-11-01T08:00:00.000Z',
    joined_at: '2026-11-02T08:00:00.000Z',
    ...changes,
  }
}

const OWNER: Member = {
  ...sampleMember(),
  user_id: SAMPLE_USER.id,
  email: SAMPLE_USER.email,
  name: SAMPLE_USER.name,
  approver: SAMPLE_USER.approver,
  role: 'owner',
  invited_at: null,
  joined_at: null,
}

const LINK = {
  url: `https://approve.example/enroll#${'t'.repeat(43)}`,
  expires_at: '2026-11-28T08:00:00.000Z',
}

function fresh() {
  const members: Member[] = [OWNER, sampleMember()]
  const policy: Policy = {
    approvers: [],
    quorum: 1,
    passkey_only: false,
    confirmed_only: false,
    high_impact: false,
    reminders: [0.5, 0.9],
    reachable: true,
  }
  const account: Account = {
    id: SAMPLE_USER.account_id,
    name: 'Ana Pereira',
    created_at: '2026-10-01T08:00:00.000Z',
    names_in_channels: false,
    volumes: { chat: 'all', browser: 'all', mail: 'all' },
    reject_reasons: ['Not now', 'Not allowed'],
    quota: { limit: 10_000, used: 1234, month: '2026-11', resets_at: '2026-12-01T00:00:00.000Z' },
  }
  return { members, policy, account, overview: quietOverview() }
}

/** An owner with one approver. */
export function peopleArea(): PeopleArea {
  const area: PeopleArea = {
    ...fresh(),
    sessions: [],
    candidates: [],
    refuse: undefined,
    sent: [],
    reset() {
      Object.assign(area, fresh(), { candidates: [], refuse: undefined, sent: [] })
      area.sessions = structuredClone(SAMPLE_SESSIONS)
    },
    routes: ({ call, body, signedIn }) => {
      const known = (work: () => unknown) => () => {
        if (!signedIn) throw refusal('not_signed_in')
        return work()
      }
      const change = (work: () => unknown = () => ({ ok: true })) =>
        known(() => {
          area.sent.push({ call, body })
          if (area.refuse !== undefined) throw refusal(area.refuse.code, area.refuse.details)
          return work()
        })
      // As in the service: what is wrong with a change is said before a proof is asked for.
      const proven = (work?: () => unknown) => () => {
        if (area.refuse === undefined && body.proof === undefined) throw refusal('proof_required')
        return change(work)()
      }
      return {
        'GET /account': known(() => area.account),
        'GET /account/overview': known(() => area.overview),
        'GET /account/policy': known(() => area.policy),
        'GET /account/members': known(() => ({ data: area.members, next_cursor: null })),
        'GET /me/sessions': known(() => ({ data: area.sessions, next_cursor: null })),
        'GET /me/delegate/candidates': known(() => ({ data: area.candidates, next_cursor: null })),
        'PATCH /account': change(),
        'PUT /account/policy': proven(() => area.policy),
        'POST /account/members': proven(() => ({
          member: sampleMember({ email: String(body.email), state: 'invited', joined_at: null }),
          link: LINK,
        })),
        'POST /account/members/:id/link': proven(() => ({ link: LINK })),
        'POST /account/members/:id/recovery': proven(() => ({
          link: { ...LINK, opens_at: '2026-11-22T08:00:00.000Z' },
        })),
        'POST /account/members/:id/recovery/cancel': change(),
        'POST /me/recovery/refuse': change(),
        'PATCH /account/members/:id': proven(),
        'POST /account/members/:id/remove': proven(),
        'PATCH /me': change(),
        'PUT /me/delegate': proven(),
        'POST /me/delegate/remove': change(),
        'POST /me/sessions/:id/end': change(),
        'POST /me/sessions/end-others': change(() => ({ ok: true, ended: 2 })),
        'POST /me/memberships/:id/leave': change(),
      }
    },
  }
  return area
}

type Overview = Answer<typeof overviewAnswer>

const NONE = { approved: 0, rejected: 0, expired: 0, withdrawn: 0, pending: 0 }

/** A month without a request. */
function quietOverview(): Overview {
  const days = Array.from({ length: 30 }, (_, ago) => ({
    day: new Date(Date.UTC(2026, 10, 29) - (29 - ago) * 86_400_000).toISOString().slice(0, 10),
    ...NONE,
  }))
  return { days, total: NONE, keys: [], approvers: [], reasons: [], dead_letters: 0, chats_in_trouble: 0 }
}

/** A month in which everything happened. */
export function busyOverview(name: string): Overview {
  const days = quietOverview().days.map(({ day }, index) => ({
    day,
    approved: (index * 7) % 23,
    rejected: index % 4,
    expired: index % 3,
    withdrawn: index % 5 === 0 ? 1 : 0,
    pending: index > 27 ? 6 : 0,
  }))
  const total = { approved: 12_345, rejected: 45, expired: 30, withdrawn: 6, pending: 12 }
  const approver = { id: SAMPLE_USER.id, approved: 90, rejected: 0, looks: 40, quick: 30 }
  return {
    ...{ days, total, dead_letters: 100, chats_in_trouble: 2 },
    seconds_to_decide: { median: 95.2, p90: 7312 },
    oldest_pending: { id: sampleReview().id, created_at: '2026-11-28T09:30:00.000Z' },
    reasons: [{ reason: 'Not now', times: 31 }],
    keys: [
      { id: 'key_3V9K2M7Q4R8S1T6W5X0YZABCDE', name, ...total },
      { id: 'key_4V9K2M7Q4R8S1T6W5X0YZABCDE', ...total },
    ],
    approvers: [
      { ...approver, name, median_look: 2.1, notes: ['quick', 'never_rejects'] },
      { ...approver, id: 'usr_2', looks: 0, quick: 0, rejected: 7, notes: [] },
    ],
  }
}
