import { describe, expect, it } from 'vitest'
import { MEMBER_ROLES, type Permission } from '../../../src/domain/account.ts'
import { accessTo } from '../../../src/flow/people/accounts.ts'
import { newPerson } from '../../../src/flow/people/person.ts'
import { asMembers } from '../../support/members.ts'
import { useService } from '../../support/service.ts'

/** What a role does not allow; an invitation allows nothing. */
const REFUSED: [string, Permission[]][] = [
  ['owner', []],
  ['approver', ['read_all', 'manage']],
  ['auditor', ['decide', 'manage']],
  ['invited', ['decide', 'read_own', 'read_all', 'manage']],
  ['stranger', ['decide', 'read_own', 'read_all', 'manage']],
]
const ALL: Permission[] = ['decide', 'read_own', 'read_all', 'manage']

/** An account, and somebody of each kind. */
async function useAccount() {
  const { deps } = (await useService()).composition
  const { user: owner, account } = newPerson(deps, { email: 'owner@example.com', name: 'Owner' })
  const named = [...MEMBER_ROLES, 'invited', 'stranger'] as const
  const people = new Map(
    named.map((name) => [name as string, newPerson(deps, { email: `${name}@example.com`, name }).user]),
  )
  people.set('owner', owner)
  const id = (name: string) => people.get(name)?.id
  const members = [
    ...MEMBER_ROLES.flatMap((role) => asMembers([id(role)], role)),
    ...asMembers([id('invited')], 'approver', 'invited'),
  ]
  await deps.accounts.insert({ ...account, members })
  return { deps, account, people }
}

describe('accessTo', () => {
  it('gives what the role allows, and answers not_found to everything else', async () => {
    const { deps, account, people } = await useAccount()
    for (const [name, refused] of REFUSED) {
      const person = people.get(name)
      if (person === undefined) return expect.unreachable()
      for (const what of ALL) {
        const access = accessTo(deps, person, what, account.id)
        if (refused.includes(what)) await expect(access).rejects.toMatchObject({ code: 'not_found' })
        else expect(await access).toMatchObject({ role: name, account: { id: account.id } })
      }
    }
  })
})
