import { expect, it } from 'vitest'
import type { AuditEntry } from '../../../src/domain/audit.ts'
import { deleteOverSessions } from '../../../src/flow/people/sessions.ts'
import { auditOf } from '../../support/audit.ts'
import { stored } from '../../support/caller.ts'
import { clockOf } from '../../support/clock.ts'
import {
  assertWith,
  codeAt,
  type EnrolledPerson,
  enrolWithPasskey,
  expectStatus,
  passkeyProof,
} from '../../support/enrolled.ts'
import { createHttpClient } from '../../support/http-client.ts'
import { type TestService, useService } from '../../support/service.ts'

/** What the trail tells of sessions: type, and method or reason, in order. */
async function told(service: TestService): Promise<unknown[]> {
  const entries = (await auditOf(service)).filter(({ type }) => type.startsWith('session.'))
  return entries.map(({ type, detail }) => [type, detail?.method ?? detail?.reason])
}

async function signIn(service: TestService, person: EnrolledPerson, browser = person.browser) {
  const { options } = expectStatus(await browser.post('/api/v1/session/passkey/options', {}), 200)
  const credential = assertWith(person, service, options)
  expectStatus(await browser.post('/api/v1/session/passkey', { credential }), 200)
}

const subjects = (entries: readonly AuditEntry[], type: AuditEntry['type']) =>
  entries.filter((entry) => entry.type === type).map(({ subject }) => subject)

it('T86: every session has an entry for its beginning and one for its end, with the reason, by whom and from where', async () => {
  const service = await useService()
  const person = await enrolWithPasskey(service, 'person@example.com')
  await signIn(service, person)
  expectStatus(await person.browser.delete('/api/v1/session'), 200)
  expect((await person.browser.delete('/api/v1/session')).status).toBe(401)
  expect(await told(service)).toEqual([
    ['session.created', 'passkey'],
    ['session.ended', 'replaced'],
    ['session.created', 'passkey'],
    ['session.ended', 'signed_out'],
  ])
  const entries = (await auditOf(service)).filter(({ type }) => type.startsWith('session.'))
  const user = await service.composition.deps.users.find(person.userId)
  for (const entry of entries)
    expect(entry).toMatchObject({
      actor: { kind: 'user', id: person.userId, address: '127.0.0.1' },
      account_id: user?.account_id,
      subject: expect.stringMatching(/^ses_/),
    })
  expect(subjects(entries, 'session.ended')).toEqual(subjects(entries, 'session.created'))
})

it('T23: a change of factors leaves an entry for each session it ends, and one for the new one', async () => {
  const service = await useService()
  const person = await enrolWithPasskey(service, 'person@example.com')
  await signIn(service, person, createHttpClient(service.url))
  const proof = await passkeyProof(person, service, 'totp.add')
  const { secret } = expectStatus(await person.browser.post('/api/v1/me/totp/options', { proof }), 200)
  const code = codeAt(secret, service.composition.deps.clock.now())
  expectStatus(await person.browser.post('/api/v1/me/totp', { code }), 201)
  const entries = await auditOf(service)
  const ended = entries.filter(({ type }) => type === 'session.ended')
  expect(ended.map(({ detail }) => detail)).toEqual([
    { reason: 'factor_changed' },
    { reason: 'factor_changed' },
  ])
  const created = subjects(entries, 'session.created')
  expect(created).toHaveLength(3)
  expect(ended.map(({ subject }) => subject).sort()).toEqual(created.slice(0, 2).sort())
  expect((await told(service)).at(-1)).toEqual(['session.created', 'renewal'])
})

it('a session of somebody else on the same browser is ended as theirs', async () => {
  const service = await useService()
  const first = await enrolWithPasskey(service, 'first@example.com')
  const second = await enrolWithPasskey(service, 'second@example.com')
  await signIn(service, second, first.browser)
  const owner = await service.composition.deps.users.find(first.userId)
  const [ended] = await auditOf(service, { type: 'session.ended' })
  expect(ended).toMatchObject({
    account_id: owner?.account_id,
    actor: { kind: 'user', id: first.userId },
    detail: { reason: 'replaced' },
  })
})

it('the clean-up ends lapsed sessions by the service, once however many do it, and deletes none before its time', async () => {
  const service = await useService()
  await enrolWithPasskey(service, 'person@example.com')
  await enrolWithPasskey(service, 'other@example.com')
  const { deps } = service.composition
  expect(await deleteOverSessions(deps)).toEqual({ ended: 0, deleted: 0 })
  const late = { ...deps, clock: clockOf(() => Date.now() + 13 * 3_600_000) }
  const runs = await Promise.all([1, 2, 3].map(() => deleteOverSessions(late)))
  expect(runs.reduce((sum, { ended }) => sum + ended, 0)).toBe(2)
  expect(await stored(service, 'sessions').countDocuments({})).toBe(2)
  const ended = await auditOf(service, { type: 'session.ended' })
  expect(ended.map(({ actor, detail }) => [actor, detail])).toEqual([
    [{ kind: 'service' }, { reason: 'lapsed' }],
    [{ kind: 'service' }, { reason: 'lapsed' }],
  ])
})
