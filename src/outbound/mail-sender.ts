import type { MailRelay } from '../domain/mail.ts'
import type { OutcomeClass } from '../domain/retry.ts'
import type { AttemptOutcome, MailSender } from '../ports/ports.ts'

interface MailSenderOptions extends MailRelay {
  /** Public origin of this service: the name that is said to the relay, and the domain of message ids. */
  baseUrl: string
  /** Limit for one attempt, from name resolution to the answer that follows the text. */
  timeoutMs: number
  /** Certificates in PEM, trusted instead of the public certificate authorities. */
  ca?: string
  /** Called with the outcome of each attempt. */
  onAttempt?: (outcome: OutcomeClass) => void
}

type Message = Parameters<MailSender['send']>[0]

/**
 * Makes the sender of mails: `nodemailer`, loaded when it is first needed, composes and speaks SMTP (RFC 5321). Every attempt is a
 * connection of its own that ends by the deadline. The relay is the operator's choice, so no address guard stands before it.
 * Closing cuts off attempts under way, as `interrupted`.
 */
export function createMailSender(options: MailSenderOptions): MailSender {
  const running = new Set<AbortController>()
  let closed = false
  return {
    host: options.host,
    async send(message): Promise<AttemptOutcome> {
      const started = performance.now()
      const cut = new AbortController()
      const deadline = setTimeout(() => cut.abort('timeout'), options.timeoutMs)
      running.add(cut)
      const outcome = closed ? 'interrupted' : await attempt(options, cut.signal, message)
      clearTimeout(deadline)
      running.delete(cut)
      options.onAttempt?.(outcome)
      return { outcome, duration_ms: Math.round(performance.now() - started) }
    },
    close(): void {
      closed = true
      for (const cut of running) cut.abort('interrupted')
    },
  }
}

async function attempt(
  options: MailSenderOptions,
  signal: AbortSignal,
  message: Message,
): Promise<OutcomeClass> {
  const composed = await compose(options, message).catch(() => undefined)
  if (composed === undefined) return 'unsigned'
  const { envelope, raw } = composed
  try {
    await inSession(options, signal, (session) => session.send(envelope, raw))
    return 'smtp_250'
  } catch (error) {
    if (signal.aborted) return signal.reason === 'interrupted' ? 'interrupted' : 'timeout'
    return failureOf(error)
  }
}

/** What a relay says to us, without sending anything; for `countersign doctor smtp`. @throws SmtpFailure */
export async function greetRelay(options: MailSenderOptions): Promise<{ encrypted: boolean }> {
  const signal = AbortSignal.timeout(options.timeoutMs)
  try {
    return await inSession(options, signal, async ({ encrypted }) => ({ encrypted }))
  } catch (error) {
    throw new SmtpFailure(error)
  }
}

/** Why a relay did not accept something: an SMTP reply, or no conversation at all. Never holds a credential. */
export class SmtpFailure extends Error {
  /** The reply's code (RFC 5321 §4.2); undefined when there was none. */
  readonly reply: number | undefined
  readonly step: string | undefined
  constructor(error: unknown) {
    const { responseCode, command, code, message } = Object(error)
    super(typeof code === 'string' ? code : String(message))
    this.name = 'SmtpFailure'
    this.reply = typeof responseCode === 'number' ? responseCode : undefined
    this.step = typeof command === 'string' ? command : undefined
  }
}

interface Session {
  encrypted: boolean
  send(envelope: { from: string; to: string[] }, raw: Buffer): Promise<void>
}

/** Opens a connection, signs in, does the work and closes. @throws what the library reports; the connection is gone then */
async function inSession<T>(
  { host, port, tls, login, baseUrl, timeoutMs, ca }: MailSenderOptions,
  signal: AbortSignal,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const { default: SMTPConnection } = await import('nodemailer/lib/smtp-connection')
  const connection = new SMTPConnection({
    ...{ host, port, name: new URL(baseUrl).hostname },
    secure: tls === 'implicit',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'none',
    opportunisticTLS: tls === 'opportunistic',
    tls: {
      ...{ minVersion: 'TLSv1.2', rejectUnauthorized: tls !== 'opportunistic' },
      ...(ca === undefined ? {} : { ca }),
    },
    ...{ connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs },
    ...{ dnsTimeout: timeoutMs, socketCloseTimeout: 0, maxResponseSize: RESPONSE_BYTES },
  })
  const cut = () => connection.close()
  signal.addEventListener('abort', cut, { once: true })
  try {
    // The library reports a broken line by an event, whatever it is doing.
    const broken = new Promise<never>((_, reject) => {
      connection.on('error', reject)
      connection.once('end', () => reject(new Error('the connection was closed')))
    })
    broken.catch(() => undefined)
    const step = (act: (done: (error?: Error | null) => void) => void) =>
      Promise.race([
        broken,
        new Promise<void>((resolve, reject) => act((error) => (error ? reject(error) : resolve()))),
      ])
    if (signal.aborted) throw new Error('too late')
    await step((done) => connection.connect(done))
    if (login !== undefined)
      await step((done) => connection.login({ user: login.user, pass: login.password }, done))
    return await work({
      encrypted: connection.secure,
      send: (envelope, raw) => step((done) => connection.send(envelope, raw, done)),
    })
  } finally {
    signal.removeEventListener('abort', cut)
    connection.quit()
    connection.close()
  }
}

/** The longest answer of a relay that is read. */
const RESPONSE_BYTES = 64 * 1024

/**
 * Composes the message (RFC 5322). Nothing that others wrote is in its header but the recipient's address, which goes in without a
 * name and not as text to parse. `Auto-Submitted` keeps replies of programs away (RFC 3834); the same id, sent twice, is one mail.
 */
async function compose({ from, baseUrl }: MailSenderOptions, { to, mail, id, thread, at }: Message) {
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer')
  const { hostname } = new URL(baseUrl)
  const node = new MailComposer({
    // A copy, because the library writes to it.
    ...{ from: { ...from }, to: [{ name: '', address: to }] },
    ...{ subject: mail.subject, text: mail.text, html: mail.html },
    ...{ messageId: `<${id}@${hostname}>`, references: `<${thread}@${hostname}>`, date: at },
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
    ...{ disableFileAccess: true, disableUrlAccess: true },
  }).compile()
  const envelope = node.getEnvelope()
  const raw = await node.build()
  return { envelope: { from: String(envelope.from), to: envelope.to }, raw }
}

function failureOf(error: unknown): OutcomeClass {
  const { responseCode: reply, command, code, response } = Object(error)
  if (code === 'EENVELOPE' && typeof reply !== 'number') return 'bounced'
  if (typeof reply !== 'number') return code === 'ETIMEDOUT' ? 'timeout' : 'connect_failed'
  return command === 'RCPT TO' && isBounce(reply, String(response)) ? 'bounced' : `smtp_${reply}`
}

/**
 * Checks whether the relay says that nobody has the address (RFC 3463: 5.1 and 5.2). A relay that refuses us, by its policy or
 * because it does not relay, says nothing of the address: a wrong setting must not end them all.
 */
function isBounce(reply: number, response: string): boolean {
  if (reply < 500) return false
  const [, subject] = /^\d{3}[ -]5\.(\d{1,3})\.\d{1,3}/.exec(response) ?? []
  return subject === undefined
    ? !/relay|polic|auth|block|spam|denied/i.test(response)
    : /^[12]$/.test(subject)
}
