import { toString as drawQr } from 'qrcode'
import { factorsOf, type Passkey, type User } from '../domain/user.ts'
import { givesFactor, type OpenEnrollment } from '../flow/people/open-enrollment.ts'
import type { StandIn } from '../flow/people/set-delegate.ts'
import type { TotpSetUp } from '../flow/people/totp-code.ts'
import type { Session } from '../flow/people-ports.ts'

/** The signed-in person: never hashes, seeds, keys or the user handle. */
export function presentUser(user: User, standIn: StandIn | undefined) {
  return {
    id: user.id,
    email: user.email,
    name: user.name,
    approver: user.approver,
    account_id: user.account_id,
    role: 'owner',
    ...factorsOf(user),
    default_ttl_seconds: user.default_ttl_seconds,
    delegate: standIn === undefined ? null : presentStandIn(standIn),
  }
}

function presentStandIn({ user, starts_at, ends_at }: StandIn) {
  return {
    email: user.email,
    name: user.name,
    starts_at: starts_at.toISOString(),
    ends_at: ends_at.toISOString(),
  }
}

/** A session answer. The token is shown here and nowhere else. */
export function presentGrant(
  grant: { token: string; expires_in: number; user: User },
  standIn: StandIn | undefined,
) {
  return {
    token: grant.token,
    token_type: 'Bearer',
    expires_in: grant.expires_in,
    user: presentUser(grant.user, standIn),
  }
}

/** One of the person's sessions: where it was begun and when it was used, and nothing that could stand for it. */
export function presentSession(session: Session, currentId: string) {
  return {
    id: session.id,
    current: session.id === currentId,
    created_at: session.created_at.toISOString(),
    last_seen_at: session.last_seen_at.toISOString(),
    expires_at: session.expires_at.toISOString(),
    user_agent: session.user_agent,
  }
}

/** What a link is for. One that enrols nobody tells of the person no more than its inviter said. */
export function presentEnrollment({ enrollment, user, invitation }: OpenEnrollment) {
  const enrolls = givesFactor(enrollment, user)
  const name = enrolls ? user?.name : invitation?.member.name
  const joins =
    invitation === undefined
      ? {}
      : {
          account_id: invitation.account.id,
          account_name: invitation.account.name,
          role: invitation.member.role,
        }
  return {
    kind: enrollment.kind,
    email: user?.email ?? null,
    name: name ?? null,
    expires_at: enrollment.expires_at.toISOString(),
    ...joins,
    enrolled: !enrolls,
  }
}

/** A passkey as its owner sees it. */
export function presentPasskey(passkey: Passkey) {
  return {
    id: passkey.id,
    name: passkey.name,
    created_at: passkey.created_at.toISOString(),
    last_used_at: passkey.last_used_at?.toISOString() ?? null,
    synced: passkey.synced,
    suspended: passkey.suspended_at !== null,
  }
}

/** All factors of the person. */
export function presentFactors(user: User) {
  return {
    passkeys: user.passkeys.map(presentPasskey),
    totp: {
      enabled: factorsOf(user).has_totp,
      since: user.totp?.confirmed_at.toISOString() ?? null,
    },
    backup_codes_left: user.backup_codes.length,
  }
}

/** A seed as it is shown, once; the picture is drawn here, so that the page needs no code for it. */
export async function presentTotpSetUp(setUp: TotpSetUp) {
  const qr_svg = await drawQr(setUp.otpauth_url, { type: 'svg', errorCorrectionLevel: 'M', margin: 2 })
  return { secret: setUp.secret, otpauth_url: setUp.otpauth_url, qr_svg }
}
