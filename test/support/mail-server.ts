import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { untilHolds } from './patience.ts'

/** A mail that the server accepted. */
export interface ArrivedMail {
  from: string
  to: string[]
  /** As it came over the wire. */
  raw: string
  /** Unfolded, by lower-case name; those that come twice are joined by a line break. */
  headers: Record<string, string>
  text: string
  html: string
  encrypted: boolean
  user: string | undefined
}

/** A reply of the server: its code and text. */
type Reply = [code: number, text: string]

/** A mail server of our own on 127.0.0.1, by a library that others wrote. */
export interface MailServer {
  port: number
  readonly mails: ArrivedMail[]
  /** Recipients that were named, in order, accepted or not. */
  readonly named: string[]
  /** Asked before each recipient is accepted; undefined accepts it. */
  behave(choose: (address: string) => Reply | undefined | Promise<Reply | undefined>): void
  until(what: string, condition: () => boolean): Promise<void>
  /** The settings that name this server. */
  env: Record<string, string>
  close(): Promise<void>
}

function refusing([responseCode, message]: Reply): Error {
  return Object.assign(new Error(message), { responseCode })
}

/** Starts one; without options it offers neither TLS nor a login. */
export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const mails: ArrivedMail[] = []
  const named: string[] = []
  const watchers = new Set<() => void>()
  let choose: Parameters<MailServer['behave']>[0] = () => undefined
  const server = new SMTPServer({
    disabledCommands: options.secure || options.key ? [] : ['STARTTLS'],
    authOptional: options.onAuth === undefined,
    hideENHANCEDSTATUSCODES: true,
    closeTimeout: 100,
    onRcptTo({ address }, _session, done) {
      named.push(address)
      void Promise.resolve(choose(address)).then((reply) =>
        reply === undefined ? done() : done(refusing(reply)),
      )
    },
    onData(stream, session, done) {
      const parts: Buffer[] = []
      stream.on('data', (part: Buffer) => parts.push(part))
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        mails.push({
          ...readMail(Buffer.concat(parts).toString('utf8')),
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          encrypted: session.secure,
          user: session.user,
        })
        done()
        for (const look of [...watchers]) look()
      })
    },
    ...options,
  })
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.server.address() as AddressInfo
  return {
    port,
    mails,
    named,
    behave: (next) => {
      choose = next
    },
    until: (what, condition) => untilHolds(watchers, what, condition),
    env: {
      SMTP_HOST: '127.0.0.1',
      SMTP_PORT: String(port),
      SMTP_FROM: 'Countersign <approvals@example.com>',
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

function readMail(raw: string): Pick<ArrivedMail, 'raw' | 'headers' | 'text' | 'html'> {
  const { headers, body } = readPart(raw)
  const boundary = /boundary="?([^";]+)"?/.exec(headers['content-type'] ?? '')?.[1]
  const parts = boundary === undefined ? [] : body.split(`--${boundary}`).slice(1, -1).map(readPart)
  const found = (type: string) => {
    const part = parts.find((one) => one.headers['content-type']?.startsWith(type))
    return part === undefined ? '' : decoded(part)
  }
  return { raw, headers, text: found('text/plain'), html: found('text/html') }
}

function readPart(raw: string): { headers: Record<string, string>; body: string } {
  const text = raw.replace(/^\r\n/, '')
  const end = text.indexOf('\r\n\r\n')
  const headers: Record<string, string> = {}
  for (const line of text
    .slice(0, end)
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n')) {
    const name = line.slice(0, line.indexOf(':')).toLowerCase()
    const value = line.slice(line.indexOf(':') + 1).trim()
    headers[name] = headers[name] === undefined ? value : `${headers[name]}\n${value}`
  }
  return { headers, body: text.slice(end + 4).replace(/\r\n$/, '') }
}

function decoded({ headers, body }: ReturnType<typeof readPart>): string {
  const how = headers['content-transfer-encoding']
  if (how === 'base64') return Buffer.from(body, 'base64').toString('utf8').replaceAll('\r\n', '\n')
  if (how !== 'quoted-printable') return body.replaceAll('\r\n', '\n')
  const bytes = body
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8').replaceAll('\r\n', '\n')
}
