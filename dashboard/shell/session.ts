import { sessionShape, type User } from '../../webauthn-page/kit/api/contract.ts'
import { get, RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import type { Shape } from '../../webauthn-page/kit/api/shape.ts'
import { type AccountInvitation, type AccountView, accountsOf, accountsShape } from './account-view.ts'

/** Who is signed in and where they may look. */
export interface Session {
  user: User
  accounts: [AccountView, ...AccountView[]]
  invitations: readonly AccountInvitation[]
}

const shape: Shape<Session> = (value, path) => {
  const { user } = sessionShape(value, path)
  const { accounts, invitations = [] } = accountsShape(value, path)
  return { user, accounts: accountsOf(user, accounts), invitations }
}

/** Undefined when nobody is signed in. @throws RequestFailure, ShapeError */
export async function loadSession(): Promise<Session | undefined> {
  try {
    return await get('/session', shape)
  } catch (error) {
    if (error instanceof RequestFailure && error.status === 401) return undefined
    throw error
  }
}

/** The account the address names; the first one when it names none. Undefined for one this person may not look at. */
export function chosenAccount({ accounts }: Session, query: URLSearchParams): AccountView | undefined {
  const wanted = query.get('account')
  return wanted === null ? accounts[0] : accounts.find(({ id }) => id === wanted)
}
