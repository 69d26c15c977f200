import { z } from 'zod'
import { factorsOf, type Session, type User } from '../../domain/user.ts'
import type { Memberships, StandIn } from '../../domain/views.ts'
import {
  type Answer,
  approverField,
  idField,
  memberRoleField,
  okAnswer,
  pageOf,
  present,
  presentTimes,
  recoveryTimes,
  roleField,
  timeField,
} from './shared/fields.ts'
import { text } from './shared/input.ts'
import { idInPath, OWN_PAGE, operations, PROOF_REFUSALS } from './shared/operation.ts'
import { authenticationSchema, proofBody, requestOptionsAnswer } from './shared/proofs.ts'

export const email = text.max(320, 'is too long')

export const code = text.max(64, 'is too long')

export const passkeySignInBody = z.object({ credential: authenticationSchema }).meta({ id: 'PasskeySignIn' })

export const codeSignInBody = z.object({ email, code }).meta({ id: 'CodeSignIn' })

export const userAnswer = z
  .strictObject({
    id: idField('usr'),
    email: z.string().meta({ example: 'alice@example.com' }),
    name: z.string(),
    approver: approverField,
    account_id: idField('acc')
      .optional()
      .meta({ description: 'Their own account; absent while an invited person has none.' }),
    role: z.literal('owner'),
    has_passkey: z.boolean(),
    has_totp: z.boolean(),
    has_suspended_passkey: z
      .boolean()
      .meta({ description: 'One of the person’s passkeys is suspended: a copy of it may exist.' }),
    default_ttl_seconds: z.int(),
    delegate: z
      .strictObject({ email: z.string(), name: z.string(), starts_at: timeField, ends_at: timeField })
      .nullable()
      .meta({ description: 'The delegate who decides for the person, now or from that time on.' }),
  })
  .meta({ id: 'User' })

export const grantFields = {
  token: z.string().meta({ description: 'Session JWT, for callers that cannot hold a cookie.' }),
  token_type: z.literal('Bearer'),
  expires_in: z.int().meta({ description: 'Seconds the JWT is valid.', example: 900 }),
  user: userAnswer,
}

/** The answer after signing in. */
export const sessionAnswer = z
  .strictObject(grantFields)
  .meta({ id: 'Session', description: 'The answer also sets the session cookie.' })

export const provenAnswer = z
  .strictObject({ ok: z.literal(true), proven_until: timeField })
  .meta({ id: 'ProvenSession' })

/** The query that a page adds if it also works signed out. */
const sessionQuery = z.object({
  optional: z
    .enum(['true'])
    .optional()
    .meta({ description: 'Answer 204 instead of 401 when no one is signed in.' }),
})

export const currentSessionAnswer = z
  .strictObject({
    user: userAnswer,
    expires_at: timeField.meta({
      description:
        'The latest end of the session; an idle one ends earlier, after 12 hours unless set otherwise.',
    }),
    accounts: z
      .array(z.strictObject({ id: idField('acc'), name: z.string(), role: roleField, own: z.boolean() }))
      .meta({ description: 'The accounts that the person has access to; open the first one.' }),
    invitations: z
      .array(
        z.strictObject({
          account_id: idField('acc'),
          account_name: z.string(),
          role: memberRoleField,
          invited_at: timeField,
        }),
      )
      .meta({ description: 'Accounts that ask the person to join, the latest first; at most fifty.' }),
    recovery: z
      .strictObject({ account_name: z.string(), ...recoveryTimes })
      .optional()
      .meta({ description: 'An owner lets the person set up their sign-in anew; they can refuse.' }),
  })
  .meta({ id: 'CurrentSession' })

const ownSession = z
  .strictObject({
    id: idField('ses'),
    current: z.boolean().meta({ description: 'The session that asks.' }),
    created_at: timeField,
    last_seen_at: timeField.meta({ description: 'To the minute; 12 idle hours end a session.' }),
    expires_at: timeField.meta({ description: 'Its latest end.' }),
    user_agent: z.string().meta({
      description: 'The `User-Agent` of the browser at sign-in: at most 200 characters, not checked.',
      example: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    }),
  })
  .meta({ id: 'OwnSession' })

export const ownSessionsAnswer = pageOf(ownSession).meta({ id: 'OwnSessions' })

export const othersEndedAnswer = z
  .strictObject({ ok: z.literal(true), ended: z.int().min(0).meta({ description: 'How many.' }) })
  .meta({ id: 'OtherSessionsEnded' })

/** Presents the signed-in person: never hashes, seeds, keys or the user handle. */
export function presentUser(user: User, standIn: StandIn | undefined): Answer<typeof userAnswer> {
  return present(userAnswer, user, {
    account_id: user.no_account ? undefined : user.account_id,
    role: 'owner',
    ...factorsOf(user),
    has_suspended_passkey: user.passkeys.some(({ suspended_at }) => suspended_at !== null),
    delegate:
      standIn === undefined
        ? null
        : {
            email: standIn.user.email,
            name: standIn.user.name,
            starts_at: standIn.starts_at.toISOString(),
            ends_at: standIn.ends_at.toISOString(),
          },
  })
}

/** Presents a new session or JWT. The token is shown here and nowhere else. */
export function presentGrant(
  grant: { token: string; expires_in: number; user: User },
  standIn: StandIn | undefined,
): Answer<typeof sessionAnswer> {
  return present(sessionAnswer, grant, { token_type: 'Bearer', user: presentUser(grant.user, standIn) })
}

/** Presents one of the person's sessions: its browser and times, but nothing that could be used as the session. */
export function presentSession(session: Session, currentId: string): Answer<typeof ownSession> {
  return present(ownSession, session, { current: session.id === currentId })
}

/** Presents the accounts that the signed-in person may look at, and their invitations. */
export function presentMemberships(
  { accounts, invitations, recovery }: Memberships,
  userId: string,
): Pick<Answer<typeof currentSessionAnswer>, 'accounts' | 'invitations' | 'recovery'> {
  return {
    accounts: accounts.map(({ account, role }) => ({
      id: account.id,
      name: account.name,
      role,
      own: account.owner_id === userId,
    })),
    invitations: invitations.map(({ account, member }) => ({
      account_id: account.id,
      account_name: account.name,
      role: member.role,
      invited_at: member.invited_at.toISOString(),
    })),
    ...(recovery === undefined
      ? {}
      : { recovery: { account_name: recovery.account.name, ...presentTimes(recovery) } }),
  }
}

export const signedIn = { schema: sessionAnswer, description: 'Signed in.', headers: ['Set-Cookie'] } as const

export const sessionOperations = operations('Signing in', {
  'get /api/v1/session': {
    id: 'getSession',
    summary: 'Get the current user',
    limited: false,
    parameters: { query: sessionQuery },
    answers: {
      '200': { schema: currentSessionAnswer, description: 'The session.' },
      '204': { description: 'No one is signed in, and `optional=true` was asked.' },
    },
  },
  'delete /api/v1/session': {
    id: 'endSession',
    summary: 'Sign out',
    description: 'The session ends on the server: its cookie and its JWTs are no longer valid.',
    limited: false,
    answers: { '200': { schema: okAnswer, description: 'Signed out.', headers: ['Set-Cookie'] } },
  },
  'post /api/v1/session/refresh': {
    id: 'refreshSession',
    summary: 'Get a new session JWT',
    description: 'With the session cookie only: a JWT cannot be renewed with itself.',
    access: { by: ['cookie'], ownPage: true },
    limited: false,
    answers: { '200': { schema: sessionAnswer, description: 'A new JWT for the same session.' } },
  },
  'post /api/v1/session/proof': {
    id: 'proveSession',
    summary: 'Prove presence in this session',
    description:
      'With a passkey or a code, by step-up `session.prove`. For 15 minutes, as after signing in, the session may then make API keys and webhooks, rotate their secrets, turn notifications on in a browser, and read the signing secrets of callbacks. Signing in with a backup code is no such proof.',
    body: { schema: proofBody },
    answers: { '200': { schema: provenAnswer, description: 'Proven; the answer says for how long.' } },
    refusals: [...PROOF_REFUSALS],
  },
  'post /api/v1/session/passkey/options': {
    id: 'startPasskeySignIn',
    summary: 'Start signing in with a passkey',
    access: OWN_PAGE,
    answers: {
      '200': { schema: requestOptionsAnswer, description: 'Any passkey of this service may answer.' },
    },
  },
  'post /api/v1/session/passkey': {
    id: 'signInWithPasskey',
    summary: 'Sign in with a passkey',
    access: OWN_PAGE,
    body: {
      schema: passkeySignInBody,
    },
    answers: { '200': signedIn },
    refusals: ['challenge_invalid', 'sign_in_failed', 'passkey_suspended', 'user_handle_missing'],
  },
  'post /api/v1/session/totp': {
    id: 'signInWithTotp',
    summary: 'Sign in with a one-time code',
    description: 'Only on a browser that was enrolled before: a phished code alone opens nothing.',
    access: OWN_PAGE,
    body: { schema: codeSignInBody },
    answers: { '200': signedIn },
    refusals: ['sign_in_failed', 'unknown_browser', 'totp_disabled', 'totp_locked'],
  },
  'post /api/v1/session/backup-code': {
    id: 'signInWithBackupCode',
    summary: 'Sign in with a backup code',
    description: 'Only on a browser that was enrolled before. The code is used up; it never decides.',
    access: OWN_PAGE,
    body: { schema: codeSignInBody },
    answers: { '200': signedIn },
    refusals: ['sign_in_failed', 'unknown_browser', 'totp_locked'],
  },
})

/** The operations on a person's own sessions. */
export const ownSessionOperations = operations('Signing in', {
  'get /api/v1/me/sessions': {
    id: 'listSessions',
    summary: 'List my sessions',
    description: 'Live sessions, the latest used first; at most the latest hundred.',
    answers: { '200': { schema: ownSessionsAnswer, description: 'All of them.' } },
  },
  'post /api/v1/me/sessions/end-others': {
    id: 'endOtherSessions',
    summary: 'End all my other sessions',
    answers: { '200': { schema: othersEndedAnswer, description: 'Only the current session remains.' } },
  },
  'post /api/v1/me/sessions/{id}/end': {
    id: 'endOneSession',
    summary: 'End one of my sessions',
    description: 'Takes effect at once, for its cookie and its JWTs; it can be the current session.',
    parameters: { path: idInPath('ses', 'Session id.') },
    answers: { '200': { schema: okAnswer, description: 'Ended.' } },
    refusals: ['not_found'],
  },
})
