import { type Factors, factorsShape } from '../api/contract.ts'
import { get } from '../api/request.ts'
import { type Child, link, p } from '../dom/element.ts'
import { day } from '../dom/moment.ts'
import { notice } from '../dom/notice.ts'
import { callerName } from '../show/caller-text.ts'

export const NONE_ALLOWED = 'None of your factors is allowed here.'

/** The way out for a person without a working factor: adding a factor needs a proof with an existing one (T34). */
export const NEW_LINK =
  'Ask the owner who invited you, or the operator of this service: the operator’s command “countersign user invite <your e-mail address> --renew” prints a new sign-in link.'

/** Says `why` the person has nothing to confirm with, and what to do next. */
export function addPasskey(why: string): HTMLElement {
  const element = p(`${why} `, link('/account', 'Add a passkey'), ', then come back.')
  void get('/me/factors', factorsShape).then(
    (factors) => {
      if (isLockedOut(factors)) element.replaceWith(lostFactors(factors) ?? '')
    },
    () => {},
  )
  return element
}

/** Checks whether none of the person's factors works any more. */
export function isLockedOut({ passkeys, totp }: Factors): boolean {
  return !totp.enabled && passkeys.every(({ suspended }) => suspended)
}

/** Says which of the person's factors no longer work and what to do about it; undefined if all work. */
export function lostFactors(factors: Factors): HTMLElement | undefined {
  const lost = factors.passkeys.filter(({ suspended }) => suspended)
  const lockedOut = isLockedOut(factors)
  if (lost.length === 0 && !lockedOut) return undefined
  return notice(
    'warning',
    ...lost.flatMap(({ name, suspended_at }): Child[] => [
      'your passkey ',
      callerName(name),
      ' has been suspended since ',
      suspended_at !== null && day(suspended_at),
      ': its counter went backwards, so a copy of it may exist. ',
    ]),
    lost.length === 0 && 'your codes are switched off: too many wrong ones were entered. ',
    lockedOut ? `You have nothing else to confirm with. ${NEW_LINK}` : 'It no longer works; remove it.',
  )
}
