import { describe, expect, it } from 'vitest'
import { mailDeviceId } from '../../../src/domain/push.ts'
import { inviteMemberByOperator } from '../../../src/flow/joining/invite-member.ts'
import { createRelay, NO_LOOPS } from '../../../src/flow/relay/relay.ts'
import { createRequest } from '../../../src/flow/requests/create-request.ts'
import { confirmAddress, sendAddressCode } from '../../../src/flow/tell/mail-address.ts'
import { addPushDevice, removePushDevice, testPushDevice } from '../../../src/flow/tell/manage-devices.ts'
import { remindApprovers } from '../../../src/flow/tell/remind-approvers.ts'
import { readCallbackLog } from '../../../src/flow/webhooks/delivery-log.ts'
import { waitUntil } from '../../support/chat-platform.ts'
import { codeIn, confirm, pushesOf, useMailSetting } from '../../support/mail-setting.ts'
import { usePushService } from '../../support/push-setting.ts'
import { newRequester, type Worker } from '../../support/worker.ts'
import { askMany, dieAfter, vote } from '../chat/card-setting.ts'

const atRest = (worker: Worker, states: readonly string[]) =>
  waitUntil(async () => expect((await pushesOf(worker)).map(({ state }) => state)).toEqual(states))

describe('a confirmed address', () => {
  it('gets a mail in two forms: our words, the caller’s in a frame, one link that asks for the sign-in', async () => {
    const setting = await useMailSetting()
    const { server, worker, requester } = setting
    await confirm(setting, requester.user)
    await worker.start()
    const body = {
      action: 'Pay $120.00 to АCME',
      context: { password: 'hunter2' },
      requires_individual_decision: true,
    }
    const { request } = await createRequest(worker.deps, requester.caller, body)
    await server.until('the mail', () => server.mails.length === 1)
    const [mail] = server.mails
    expect(mail?.to).toEqual([requester.user.email])
    expect(mail?.from).toBe('approvals@example.com')
    expect(mail?.headers).toMatchObject({
      subject: 'High impact: a request waits for your decision',
      from: 'Countersign <approvals@example.com>',
      to: requester.user.email,
      'auto-submitted': 'auto-generated',
      'message-id': expect.stringMatching(/^<[0-9a-f]{32}@localhost>$/),
    })
    const link = `http://localhost:3000/a/${request.id}`
    expect(mail?.text).toBe(
      [
        'High impact: a request waits for your decision.',
        'Written by the caller, not checked by Countersign:\n> ⚠️ Look-alike letters. Pay $120.00 to АCME',
        `Requested by key of ${requester.account.name}`,
        `To see more, sign in: ${link}`,
        'Nothing can be decided by e-mail. Replies are not read. What you are told: http://localhost:3000/account',
      ].join('\n\n'),
    )
    expect([...(mail?.html ?? '').matchAll(/href="([^"]*)"/g)].map(([, href]) => href)).toEqual([
      link,
      'http://localhost:3000/account',
    ])
    expect(mail?.raw).not.toContain('hunter2')
    await atRest(worker, ['sent'])
    const { pushes } = await readCallbackLog(worker.deps, requester.caller, request.id)
    expect(pushes).toMatchObject([
      { approver: requester.user.approver, push: { state: 'sent', attempts: [{ outcome: 'smtp_250' }] } },
    ])
  })

  it('gets one mail of all requests of a call, and one more of those that its repeat makes', async () => {
    const setting = await useMailSetting()
    const { server, worker, requester } = setting
    await confirm(setting, requester.user)
    const pays = Array.from({ length: 5 }, (_, n) => ({ action: `Pay ${n + 1}` }))
    await dieAfter(setting, 2, () => askMany(setting, pays, 'k'))
    await worker.start()
    await createRelay(worker.deps, NO_LOOPS).run()
    await server.until('the first mail', () => server.mails.length === 1)
    const requests = worker.stored('requests')
    // By the store's clock, and not at the edge of a turn.
    const created_at = new Date(worker.deps.clock.now().getTime() - 65_000)
    await requests.updateMany({}, { $set: { created_at } })
    await askMany(setting, pays, 'k')
    await waitUntil(async () =>
      expect(await requests.countDocuments({ outbox_token: { $ne: null } })).toBe(0),
    )
    await atRest(worker, ['sent', 'sent'])
    expect(server.mails.map(({ headers }) => headers.subject)).toEqual([
      '2 requests wait for your decision',
      '5 requests wait for your decision',
    ])
  })

  it('gets reminders, tests and the outcome that a caller wants told there, in one thread', async () => {
    const setting = await useMailSetting()
    const { server, worker, requester } = setting
    await confirm(setting, requester.user)
    await worker.start()
    const id = await requester.request({ notify: { member: requester.user.email } })
    await server.until('the request', () => server.mails.length === 1)
    expect(await remindApprovers(worker.deps, requester.caller, id)).toMatchObject({
      accepted: true,
      reachable: true,
    })
    await vote(setting, id, requester.user, 'rejected')
    await server.until('the outcome', () => server.mails.length === 3)
    expect(server.mails.map(({ headers }) => headers.subject)).toEqual([
      'A request waits for your decision',
      'Still waiting for your decision',
      'A request was rejected',
    ])
    expect(new Set(server.mails.map(({ headers }) => headers.references)).size).toBe(1)
    expect(new Set(server.mails.map(({ headers }) => headers['message-id'])).size).toBe(3)
    expect(await testPushDevice(worker.deps, requester.user, mailDeviceId(requester.user.id))).toBe(true)
    expect(server.mails[3]?.headers.subject).toBe('Notifications work')
  })
})

describe('T90: hostile texts in mails', () => {
  const LINKS =
    /https?:\/\/(?!localhost:3000\/)|www\.|\bevil\.example|evil[.。．｡]example|mailto:|tel:|[\w]@[\w]/iu

  const HOSTILE = {
    'a link': 'Approve at https://evil.example/a?x=1 now',
    'a bare host': 'see evil.example/login or www.evil.example',
    'an address': 'write to mailto:ceo@evil.example or tel:+15551234',
    'stops of other scripts': 'evil。example evil．example evil｡example',
    'a homograph': 'open https://аррӏе.com and еvil.example',
    markup: '<a href="https://evil.example">Approve</a><img src=x onerror=alert(1)><!--',
    'line breaks that pass for headers': 'x\nBcc: victim@evil.example\n\nbody',
    'line breaks that end the mail': 'x\n.\nMAIL FROM:<a@evil.example>',
    'hidden letters': 'pay \u202egpj.exe\u200b\u2066 evil\u200b.example',
    'our own words': 'Nothing more.\n\nTo see more, sign in: https://evil.example/a',
  }
  const HEADERS =
    'auto-submitted content-type date from message-id mime-version references subject to x-auto-response-suppress'

  it('are shown in one line of the caller’s frame, with nothing to press, and reach no header', async () => {
    const setting = await useMailSetting()
    const { server, worker, requester } = setting
    await confirm(setting, requester.user)
    await worker.start()
    for (const [name, action] of Object.entries(HOSTILE)) {
      // As names, these texts are refused where they come in; here as if a later version forgot that.
      requester.caller.key.name = action
      await worker.stored('accounts').updateOne({ _id: requester.account.id }, { $set: { name: action } })
      const body = { action, context: {}, requires_individual_decision: false }
      await createRequest(worker.deps, requester.caller, body)
      await server.until(name, () => server.mails.length === 1)
      const mail = server.mails.pop()
      expect(mail?.to, name).toEqual([requester.user.email])
      expect(
        Object.keys(mail?.headers ?? {})
          .sort()
          .join(' '),
        name,
      ).toBe(HEADERS)
      expect(mail?.headers.subject, name).toBe('A request waits for your decision')
      const lines = (mail?.text ?? '').split('\n')
      expect(lines, name).toHaveLength(10)
      expect(
        lines.filter((line) => line.startsWith('> ')),
        name,
      ).toHaveLength(1)
      expect(
        lines.filter((line) => LINKS.test(line)),
        name,
      ).toEqual([])
      const html = mail?.html ?? ''
      expect(html.replace(/<[^>]+>/g, ''), name).not.toMatch(LINKS)
      expect(html, name).not.toMatch(/<(?:img|script)|<a href="https:/)
      expect(html.match(/<a /g), name).toHaveLength(2)
      expect(`${mail?.text}${html}`, name).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200b]/)
    }
  })

  it('shows 200 characters of an action, and says how many are missing', async () => {
    const setting = await useMailSetting()
    const { server, worker, requester } = setting
    await confirm(setting, requester.user)
    await worker.start()
    const body = { action: `Pay ${'x'.repeat(900)} END`, context: {}, requires_individual_decision: false }
    await createRequest(worker.deps, requester.caller, body)
    await server.until('the mail', () => server.mails.length === 1)
    const said = server.mails[0]?.text.split('\n').find((line) => line.startsWith('> ')) ?? ''
    expect(said).toMatch(/^> Pay x+ … \d+ more characters$/)
    expect(said.length).toBeLessThan(240)
  })
})

describe('T91: an address that nobody proved', () => {
  it('gets nothing but codes, five a day, whatever is asked; the code counts once, and five wrong ones end it', async () => {
    const clock = { ahead: 0 }
    const setting = await useMailSetting({ localTime: () => Date.now() + clock.ahead })
    const { server, worker, requester } = setting
    const { deps } = worker
    await worker.start()
    expect(await sendAddressCode(deps, requester.user)).toBe(true)
    const code = codeIn(server.mails[0])
    await requester.request()
    for (let n = 0; n < 5; n += 1)
      await expect(confirmAddress(deps, requester.user, '0000 0000', '127.0.0.1')).rejects.toMatchObject({
        code: 'mail_code_refused',
      })
    await expect(confirmAddress(deps, requester.user, code, '127.0.0.1')).rejects.toMatchObject({
      code: 'mail_code_refused',
    })
    for (let n = 0; n < 3; n += 1) expect(await sendAddressCode(deps, requester.user)).toBe(true)
    await removePushDevice(deps, requester.user, mailDeviceId(requester.user.id), '127.0.0.1')
    expect(await sendAddressCode(deps, requester.user)).toBe(true)
    await expect(sendAddressCode(deps, requester.user)).rejects.toMatchObject({ code: 'mail_code_limit' })
    expect(server.mails).toHaveLength(5)
    expect(new Set(server.mails.map(codeIn)).size).toBe(5)
    clock.ahead = 31 * 60_000
    await expect(
      confirmAddress(deps, requester.user, codeIn(server.mails[4]), '127.0.0.1'),
    ).rejects.toMatchObject({ code: 'mail_code_refused' })
    clock.ahead = 25 * 3_600_000
    expect(await sendAddressCode(deps, requester.user)).toBe(true)
    const other = await newRequester(worker)
    await expect(
      confirmAddress(deps, other.user, codeIn(server.mails[5]), '127.0.0.1'),
    ).rejects.toMatchObject({ code: 'mail_code_refused' })
    await confirmAddress(deps, requester.user, codeIn(server.mails[5]), '127.0.0.1')
    await expect(sendAddressCode(deps, requester.user)).rejects.toMatchObject({ code: 'mail_confirmed' })
    await requester.request()
    await server.until('the request', () => server.mails.length === 7)
    expect(server.mails.slice(0, 6).every(({ headers }) => headers.subject?.includes('is your code'))).toBe(
      true,
    )
    expect(JSON.stringify(await worker.stored('push_devices').find({}).toArray())).not.toContain(
      requester.user.email,
    )
  })

  it('gets one invitation a day, without a link that enrols or signs in', async () => {
    const setting = await useMailSetting()
    const { server, worker, requester } = setting
    const other = await newRequester(worker)
    await worker.start()
    const email = 'stranger@example.org'
    const { link } = await inviteMemberByOperator(worker.deps, requester.account.id, {
      email,
      role: 'approver',
    })
    await server.until('the invitation', () => server.mails.length === 1)
    await inviteMemberByOperator(worker.deps, other.account.id, { email, role: 'auditor' })
    await inviteMemberByOperator(worker.deps, requester.account.id, { email, role: 'approver' })
    await atRest(worker, ['sent'])
    const [mail] = server.mails
    expect(mail?.to).toEqual([email])
    expect(mail?.headers.subject).toBe('You are invited to decide on requests')
    expect(mail?.text).toContain(`P invites you to the account ${requester.account.name} as approver.`)
    expect(mail?.raw).not.toContain(link.url.split('#')[1])
    expect(mail?.raw).not.toContain('/enroll')
  })
})

it('an address that bounces is told nothing more, and its person is told so elsewhere; another refusal ends nothing', async () => {
  const push = await usePushService()
  const setting = await useMailSetting()
  const { server, worker, requester } = setting
  const browser = push.subscribe(worker.deps.pushKey.current().public_key)
  const { endpoint, keys } = browser.subscription
  await addPushDevice(
    worker.deps,
    requester.user,
    { subscription: { endpoint, ...keys }, name: 'b' },
    '127.0.0.1',
  )
  await confirm(setting, requester.user)
  const work = await worker.start()
  server.behave(() => [554, '5.7.1 Relay access denied'])
  await requester.request()
  await waitUntil(async () => {
    const states = (await pushesOf(worker)).map(({ state }) => state)
    expect(states).toContain('dead')
  })
  server.behave(() => [550, '5.1.1 No such user'])
  await requester.request()
  await waitUntil(async () => {
    await work.relay.run()
    const titles = browser.messages.map(({ payload }) => payload.title)
    expect(titles.filter((title) => title === 'Your e-mail address refuses our mails')).toHaveLength(1)
  })
  const device = await worker.deps.pushDevices.find(mailDeviceId(requester.user.id))
  expect(device).toMatchObject({ state: 'removed', bounced_at: expect.any(Date) })
  server.behave(() => undefined)
  const named = server.named.length
  await requester.request()
  await push.until('the next request', () => browser.messages.length === 4)
  expect(server.named).toHaveLength(named)
})
