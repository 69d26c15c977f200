import { z } from 'zod'
import { isTimeZone, type Volumes } from '../../domain/hearing.ts'
import type { PushDevice } from '../../domain/push.ts'
import type { User } from '../../domain/user.ts'
import { type Answer, idField, okAnswer, timeField } from './shared/fields.ts'
import { text } from './shared/input.ts'
import { operations } from './shared/operation.ts'

const ERROR = 'must be all, high_impact or none'
const volume = z.enum(['all', 'high_impact', 'none'], { error: ERROR })
const mailVolume = z.enum(['all', 'high_impact', 'digest', 'none'], { error: `${ERROR}, or digest` }).meta({
  description: '`digest`: high impact at once, all others in one mail an hour.',
})

/** What each channel tells of requests. */
export const volumesField = z
  .strictObject({ chat: volume, browser: volume, mail: mailVolume })
  .meta({ id: 'Volumes', description: 'What each channel tells of requests.' })

const hour = text
  .regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'must be a time such as 22:00')
  .meta({ example: '22:00' })

const quietField = z
  .strictObject({
    from: hour,
    to: hour,
    time_zone: text
      .max(64, 'is too long')
      .refine(isTimeZone, 'must be a time zone such as Europe/Berlin')
      .meta({ example: 'Europe/Berlin' }),
  })
  .refine(({ from, to }) => from !== to, { error: 'must not be the end as well', path: ['from'] })
  .meta({
    id: 'QuietHours',
    description: 'Browsers and mails keep still then, and tell what still waits afterwards.',
  })

export const hearingBody = z
  .object({
    volumes: volumesField.nullable().optional().meta({ description: 'null: as each account has it.' }),
    quiet_hours: quietField.nullable().optional().meta({ description: 'null: none.' }),
  })
  .meta({ id: 'ChangeHearing' })

export const codeOfAddressBody = z
  .object({ code: text.max(40, 'is too long').meta({ example: '1234 5678' }) })
  .meta({ id: 'AddressCode' })

const addressAnswer = z
  .strictObject({
    id: idField('psd').meta({ description: 'For `/me/push/{id}/test` and `/remove`.' }),
    state: z.enum(['off', 'unconfirmed', 'on', 'bounced']).meta({
      description: '`unconfirmed`: a code was sent. `bounced`: the relay refused the address.',
    }),
    last_sent_at: timeField.nullable(),
  })
  .meta({
    id: 'MailAddress',
    description: 'The address with which the person signs in, as a place to be told.',
  })

export const hearingAnswer = z
  .strictObject({
    volumes: volumesField.nullable(),
    quiet_hours: quietField.nullable(),
    mail: addressAnswer.nullable().meta({ description: 'null: this service sends no e-mail.' }),
  })
  .meta({ id: 'Hearing', description: 'By which channels the person is told what.' })

export const codeSentAnswer = z
  .strictObject({
    ok: z.literal(true),
    sent: z.boolean().meta({ description: 'True: the relay accepted the mail.' }),
  })
  .meta({ id: 'AddressCodeSent' })

/** Presents what a person chose, and their address. @param mail its id, and the place as stored, if it was ever used */
export function presentHearing(
  { hearing = {} }: Pick<User, 'hearing'>,
  mail: { id: string; device: PushDevice | undefined } | undefined,
): Answer<typeof hearingAnswer> {
  return {
    volumes: hearing.volumes ?? null,
    quiet_hours: hearing.quiet_hours ?? null,
    mail: mail === undefined ? null : presentAddress(mail.id, mail.device),
  }
}

function presentAddress(id: string, device: PushDevice | undefined): Answer<typeof addressAnswer> {
  const last_sent_at = device?.last_sent_at?.toISOString() ?? null
  if (device?.state === 'active') return { id, state: 'on', last_sent_at }
  if (device?.state === 'unconfirmed') return { id, state: 'unconfirmed', last_sent_at }
  return { id, state: device?.bounced_at === undefined ? 'off' : 'bounced', last_sent_at }
}

/** Presents the defaults of an account. */
export function presentVolumes(volumes: Volumes): Answer<typeof volumesField> {
  return { ...volumes }
}

export const hearingOperations = operations('Notifications', {
  'get /api/v1/me/notifications': {
    id: 'getHearing',
    summary: 'Show by which channels I am told what',
    answers: { '200': { schema: hearingAnswer, description: 'As it is now.' } },
  },
  'patch /api/v1/me/notifications': {
    id: 'changeHearing',
    summary: 'Choose by which channels I am told what',
    description:
      'Omitted fields stay unchanged. Changes of your own factors are told by each channel, at any hour. Chat platforms have quiet hours of their own.',
    body: { schema: hearingBody },
    answers: { '200': { schema: hearingAnswer, description: 'As it is now.' } },
  },
  'post /api/v1/me/mail': {
    id: 'sendAddressCode',
    summary: 'Send a code to my e-mail address',
    description: 'Five times a day at most. Nothing else is sent there until the code came back.',
    answers: { '200': { schema: codeSentAnswer, description: 'The answer of the relay.' } },
    refusals: ['mail_off', 'mail_confirmed', 'mail_code_limit'],
  },
  'post /api/v1/me/mail/confirm': {
    id: 'confirmAddress',
    summary: 'Confirm my e-mail address by the code',
    body: { schema: codeOfAddressBody },
    answers: { '200': { schema: hearingAnswer, description: 'Confirmed.' } },
    refusals: ['mail_code_refused'],
  },
  'post /api/v1/me/chat/test': {
    id: 'testChat',
    summary: 'Send a test to my chat accounts',
    description: 'A message to each chat account that is linked to you, by the way of real ones.',
    answers: { '200': { schema: okAnswer, description: 'On its way.' } },
  },
})
