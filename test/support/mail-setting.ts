import { expect, onTestFinished } from 'vitest'
import type { User } from '../../src/domain/user.ts'
import { confirmAddress, sendAddressCode } from '../../src/flow/tell/mail-address.ts'
import { type ArrivedMail, type MailServer, startMailServer } from './mail-server.ts'
import { newRequester, useWorker, type Worker, type WorkerOptions } from './worker.ts'

/** An account whose owner decides, and a mail server. Mails go out once `worker.start()` was called. */
export async function useMailSetting(options: WorkerOptions = {}) {
  const server = await startMailServer()
  onTestFinished(() => server.close())
  const worker = await useWorker({ ...options, env: { ...server.env, ...options.env } })
  return { server, worker, requester: await newRequester(worker) }
}

/** Confirms the person's address, as they do by the code that reaches them there; the mail with it is taken away. */
export async function confirm({ server, worker }: { server: MailServer; worker: Worker }, user: User) {
  expect(await sendAddressCode(worker.deps, user)).toBe(true)
  const mail = server.mails.pop()
  await confirmAddress(worker.deps, user, codeIn(mail), '127.0.0.1')
  server.named.length = 0
}

/** The code in a mail, as it is typed. */
export const codeIn = (mail: ArrivedMail | undefined) =>
  /^(\d{4} \d{4}) is your code/.exec(mail?.text ?? '')?.[1] ?? 'none'

/** What is or was to be sent, oldest first. */
export const pushesOf = async ({ stored }: Worker) => {
  const found = await stored('pushes').find({}).sort({ created_at: 1, _id: 1 }).toArray()
  return found.map(({ about, state, next_at, event_id }) => ({
    kind: Object(about).kind,
    state,
    next_at,
    event_id,
  }))
}
