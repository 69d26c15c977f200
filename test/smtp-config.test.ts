import { describe, expect, it } from 'vitest'
import { readSmtp } from '../src/config/smtp.ts'

const FROM = 'Countersign <approvals@example.com>'
const BASE = { SMTP_HOST: 'smtp.example.com', SMTP_FROM: FROM }
const LOGIN = { SMTP_USER: 'u', SMTP_PASSWORD: 'p' }

/** Reads the settings. @returns those read, with the problems */
function read(values: Parameters<typeof readSmtp>[0]) {
  const problems: string[] = []
  return { settings: readSmtp(values, problems), problems }
}

describe('the settings of e-mail', () => {
  it('are none where none is set', () => {
    expect(read({})).toEqual({ settings: undefined, problems: [] })
  })

  it.each([
    [{}, 587, 'opportunistic'],
    [LOGIN, 587, 'starttls'],
    [{ ...LOGIN, SMTP_PORT: '465' }, 465, 'implicit'],
    [{ SMTP_PORT: '25', SMTP_TLS: 'none' as const }, 25, 'none'],
    [{ ...LOGIN, SMTP_HOST: '127.0.0.1', SMTP_TLS: 'none' as const }, 587, 'none'],
  ])('T92: with %j: port %i, TLS %s', (values, port, tls) => {
    const { settings, problems } = read({ ...BASE, ...values })
    expect(problems).toEqual([])
    expect(settings).toMatchObject({
      port,
      tls,
      from: { name: 'Countersign', address: 'approvals@example.com' },
    })
  })

  it('names a sender without a name', () => {
    expect(read({ ...BASE, SMTP_FROM: 'a@example.com' }).settings?.from).toEqual({
      name: 'Countersign',
      address: 'a@example.com',
    })
  })

  it.each([
    [{ SMTP_FROM: FROM }, 'SMTP_HOST: must be set, the relay that accepts mails'],
    [{ SMTP_HOST: 'h' }, 'SMTP_FROM: must be an address, such as Countersign <approvals@example.com>'],
    [
      { ...BASE, SMTP_FROM: 'A <a@b.c>\r\nBcc: x@y.z' },
      'SMTP_FROM: must be an address, such as Countersign <approvals@example.com>',
    ],
    [{ ...BASE, SMTP_USER: 'u' }, 'SMTP_USER: must be set together with SMTP_PASSWORD, or neither'],
    [{ ...BASE, SMTP_PASSWORD: 'p' }, 'SMTP_USER: must be set together with SMTP_PASSWORD, or neither'],
    [
      { ...BASE, ...LOGIN, SMTP_TLS: 'none' as const },
      'SMTP_TLS: must be starttls or implicit with SMTP_PASSWORD',
    ],
    [
      { ...BASE, ...LOGIN, SMTP_TLS: 'opportunistic' as const },
      'SMTP_TLS: must be starttls or implicit with SMTP_PASSWORD',
    ],
  ])('refuses %j', (values, problem) => {
    expect(read(values)).toEqual({ settings: undefined, problems: [problem] })
  })
})
