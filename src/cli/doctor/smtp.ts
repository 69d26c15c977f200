import type { Config } from '../../config/config.ts'
import { drawMail, type MailRelay } from '../../domain/mail.ts'
import { TEST_NEWS } from '../../domain/push.ts'
import { normaliseEmail } from '../../domain/user.ts'
import { createMailSender, greetRelay, SmtpFailure } from '../../outbound/mail-sender.ts'
import type { CommandResult } from '../terminal.ts'
import { type Check, diagnose, fail, ok, reasonOf, TIMEOUT_MS, warn } from './checks.ts'

export interface SmtpOptions {
  to?: string
}

/** `countersign doctor smtp`: talks to the relay as the service does, and sends nothing unless `--to` names an address. */
export function runSmtpDoctor({ to }: SmtpOptions): Promise<CommandResult> {
  return diagnose((config) => examine(config, to))
}

async function examine({ smtp, baseUrl }: Config, to: string | undefined): Promise<Check[]> {
  if (smtp === undefined)
    return [
      fail('E-mail', 'not set up: no SMTP_ variable is set', 'Set SMTP_HOST and SMTP_FROM (docs/email.md).'),
    ]
  const options = { ...smtp, baseUrl, timeoutMs: TIMEOUT_MS }
  const greeted = await greet(smtp, options)
  if (greeted.some(({ status }) => status === 'fail') || to === undefined) return greeted
  return [...greeted, await sendTest(options, to)]
}

type Options = Parameters<typeof greetRelay>[0]

async function greet({ host, port, tls, login, from }: MailRelay, options: Options): Promise<Check[]> {
  const name = 'Mail relay'
  const where = `${host}:${port}`
  try {
    const { encrypted } = await greetRelay(options)
    const how = encrypted ? 'over TLS' : 'without TLS'
    const who = login === undefined ? 'no login' : `signed in as ${login.user}`
    const detail = `${where} answers ${how}, ${who}; mails come from ${from.address}`
    if (encrypted) return [ok(name, detail)]
    return [warn(name, detail, 'Whoever is on the way can read the mails. Let the relay offer STARTTLS.')]
  } catch (error) {
    return [fail(name, `${where}: ${whyNot(error)}`, adviceFor(error, tls))]
  }
}

function whyNot(error: unknown): string {
  if (!(error instanceof SmtpFailure) || error.reply === undefined) return reasonOf(error)
  return `answers ${error.reply} to ${error.step?.split(' ')[0] ?? 'us'}`
}

function adviceFor(error: unknown, tls: MailRelay['tls']): string {
  const { reply, step = '' } = error instanceof SmtpFailure ? error : { reply: undefined }
  if (step.startsWith('AUTH') || reply === 535) return 'Correct SMTP_USER and SMTP_PASSWORD.'
  if (tls === 'opportunistic' || tls === 'none') return 'Correct SMTP_HOST and SMTP_PORT.'
  return 'Correct SMTP_HOST, SMTP_PORT and SMTP_TLS; the certificate must be for SMTP_HOST (NODE_EXTRA_CA_CERTS names your own authority).'
}

async function sendTest(options: Options, address: string): Promise<Check> {
  const name = 'Test mail'
  const to = normaliseEmail(address)
  if (to === undefined) return fail(name, 'the address is not an e-mail address', 'Correct --to.')
  const at = new Date()
  const id = `doctor.${at.getTime()}`
  const mail = drawMail(TEST_NEWS, options.baseUrl)
  const sender = createMailSender(options)
  const { outcome } = await sender.send({ to, mail, id, thread: id, at })
  if (outcome === 'smtp_250')
    return ok(name, 'accepted by the relay; look whether it arrives, and not among the spam')
  return fail(
    name,
    `not accepted: ${outcome}`,
    'Let the relay accept SMTP_FROM as sender, and send to other domains.',
  )
}
