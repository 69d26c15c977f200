import { expect, it } from 'vitest'
import { identityKey, type LinkedIdentity } from '../../src/domain/chat.ts'
import { Refusal } from '../../src/domain/errors.ts'
import { freshUser, usePeopleStores } from '../support/people-stores.ts'

const stores = usePeopleStores()

const identity = (user: string, tenant = 'T1'): LinkedIdentity => ({
  platform: 'slack',
  tenant,
  user,
  linked_at: new Date(1),
})

const codeOf = async (attempt: Promise<unknown>): Promise<unknown> => {
  const error = await attempt.catch((reason: unknown) => reason)
  return error instanceof Refusal ? [error.code, error.publicMessage] : error
}

it('finds a person by an identity they linked, and nobody by that of another workspace', async () => {
  const { users } = stores()
  const user = freshUser()
  await users.insert(user)
  const chat = [identity('U1'), { ...identity('U1'), platform: 'teams' as const }]
  expect(await users.change(user.id, 0, { chat }, [])).toMatchObject({ chat, version: 1 })
  expect(await users.findByIdentity(identityKey(identity('U1')))).toEqual({ ...user, chat, version: 1 })
  expect(await users.findByIdentity(identityKey(identity('U1', 'T2')))).toBeUndefined()
})

it('gives an identity to one person only, whoever comes second and however', async () => {
  const { users } = stores()
  const [first, second] = [freshUser(), freshUser()]
  await users.insert({ ...first, chat: [identity('U2')] })
  await users.insert(second)
  const refused = ['identity_taken', 'This chat identity is linked to another person; unlink it there first.']
  expect(await codeOf(users.change(second.id, 0, { chat: [identity('U2')] }, []))).toEqual(refused)
  expect(await codeOf(users.insert({ ...freshUser(), chat: [identity('U2')] }))).toEqual(refused)
  await users.change(first.id, 0, { chat: [] }, [])
  expect(await users.change(second.id, 0, { chat: [identity('U2')] }, [])).toMatchObject({ version: 1 })
  expect((await users.findByIdentity(identityKey(identity('U2'))))?.id).toBe(second.id)
})
