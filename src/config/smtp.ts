import { isIP } from 'node:net'
import { z } from 'zod'
import { given } from '../domain/given.ts'
import type { MailRelay } from '../domain/mail.ts'

const PORT = /^[1-9]\d{0,4}$/

/** The e-mail part of the environment; without SMTP_HOST there is no e-mail. */
export const smtpVariables = {
  SMTP_HOST: z
    .string()
    .regex(/^[A-Za-z0-9](?:[A-Za-z0-9.:-]*[A-Za-z0-9])?$/, 'must be a host name or an IP address')
    .optional(),
  SMTP_PORT: z
    .string()
    .refine((text) => PORT.test(text) && Number(text) <= 65535, 'must be a port number')
    .optional(),
  SMTP_TLS: z
    .enum(['implicit', 'starttls', 'opportunistic', 'none'], {
      error: 'must be implicit, starttls, opportunistic or none',
    })
    .optional(),
  SMTP_USER: z.string().optional(),
  SMTP_PASSWORD: z.string().optional(),
  SMTP_FROM: z.string().optional(),
}

type Values = { [name in keyof typeof smtpVariables]?: z.output<(typeof smtpVariables)[name]> }

const FROM = /^(?:([^<>"\p{C}]*) )?<?([^\s\p{C}<>",;:()@]+@[^\s\p{C}<>",;:()@]+)>?$/u

/** Reads the e-mail part; undefined when none of it is set. Adds missing and dangerous settings to `problems`. */
export function readSmtp(values: Values, problems: string[]): MailRelay | undefined {
  const { SMTP_HOST: host, SMTP_USER: user, SMTP_PASSWORD: password } = values
  const set = Object.keys(smtpVariables).filter((name) => Reflect.get(values, name) !== undefined)
  if (set.length === 0) return undefined
  const before = problems.length
  if (host === undefined) problems.push('SMTP_HOST: must be set, the relay that accepts mails')
  const [, name = '', address] = FROM.exec(values.SMTP_FROM ?? '') ?? []
  if (address === undefined)
    problems.push('SMTP_FROM: must be an address, such as Countersign <approvals@example.com>')
  if ((user === undefined) !== (password === undefined))
    problems.push('SMTP_USER: must be set together with SMTP_PASSWORD, or neither')
  const port = Number(values.SMTP_PORT ?? 587)
  const tls = tlsOf(values, port)
  // Anyone on the way could read the password, or take the place of the relay and get it.
  if (password !== undefined && (tls === 'none' || tls === 'opportunistic') && !isThisMachine(host ?? ''))
    problems.push('SMTP_TLS: must be starttls or implicit with SMTP_PASSWORD')
  if (problems.length > before || host === undefined || address === undefined) return undefined
  const login = user === undefined || password === undefined ? undefined : Object.freeze({ user, password })
  return Object.freeze({
    ...{ host, port, tls },
    ...given({ login }),
    from: Object.freeze({ name: name.trim() || 'Countersign', address }),
  })
}

function tlsOf({ SMTP_TLS, SMTP_PASSWORD }: Values, port: number): MailRelay['tls'] {
  if (SMTP_TLS !== undefined) return SMTP_TLS
  if (port === 465) return 'implicit'
  return SMTP_PASSWORD === undefined ? 'opportunistic' : 'starttls'
}

function isThisMachine(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}
