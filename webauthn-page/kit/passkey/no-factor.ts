import { link, p } from '../dom/element.ts'

export const NONE_ALLOWED = 'None of your ways of confirming is allowed here.'

/** `why` a person has nothing to confirm with, and the way on. */
export function addPasskey(why: string): HTMLElement {
  return p(`${why} `, link('/account', 'Add a passkey'), ', then come back.')
}
