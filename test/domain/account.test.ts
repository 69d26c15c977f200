import { describe, expect, it } from 'vitest'
import type { Member } from '../../src/domain/account.ts'
import { may, type Permission, type Role, roleIn } from '../../src/domain/account.ts'

const member = (user_id: string, role: Member['role'], state: Member['state'] = 'active'): Member => ({
  user_id,
  role,
  state,
  invited_at: new Date(0),
  joined_at: null,
})
const account = {
  owner_id: 'olga',
  members: [member('ann', 'approver'), member('al', 'auditor'), member('ian', 'approver', 'invited')],
}

describe('roleIn', () => {
  it.each([
    ['the owner', 'olga', 'owner'],
    ['an approver', 'ann', 'approver'],
    ['an auditor', 'al', 'auditor'],
    ['somebody who has not accepted yet', 'ian', undefined],
    ['a stranger', 'eve', undefined],
  ] as const)('%s', (_who, id, role) => {
    expect(roleIn(account, id)).toBe(role)
  })

  it('an owner who is listed as a member, too, stays the owner', () => {
    expect(roleIn({ ...account, members: [member('olga', 'auditor')] }, 'olga')).toBe('owner')
  })
})

describe('may', () => {
  const table: Record<Permission, Record<Role, boolean>> = {
    decide: { owner: true, approver: true, auditor: false },
    read_own: { owner: true, approver: true, auditor: true },
    read_all: { owner: true, approver: false, auditor: true },
    manage: { owner: true, approver: false, auditor: false },
  }
  const cells = Object.entries(table).flatMap(([what, roles]) =>
    Object.entries(roles).map(([role, allowed]) => [role, what, allowed] as const),
  )

  it.each(cells)('%s: %s → %s', (role, what, allowed) => {
    expect(may(role as Role, what as Permission)).toBe(allowed)
  })

  it('nobody without a role may anything', () => {
    expect((Object.keys(table) as Permission[]).filter((what) => may(undefined, what))).toEqual([])
  })
})
