import { get } from '../../webauthn-page/kit/api/request.ts'
import { list, nullable, object, text } from '../../webauthn-page/kit/api/shape.ts'
import type { PageContext } from '../shell/page-entry.ts'

type People = readonly { approver: string | null; name: string }[]

const membersShape = object({ data: list(object({ approver: nullable(text), name: text })) })
const accountShape = object({ owner: object({ approver: text, name: text }) })

/**
 * Names of people of the account that is looked at, by the reference that receipts hold. Who the members are only their
 * owner may list; others know the owner and themselves.
 */
export async function loadNames(context: PageContext): Promise<(reference: string) => string | undefined> {
  const others = await peopleOf(context).catch((): People => [])
  const names = new Map([...others, context.user].map(({ approver, name }) => [approver, name]))
  return (reference) => names.get(reference)
}

/** @throws RequestFailure, ShapeError */
async function peopleOf({ account, ofAccount }: PageContext): Promise<People> {
  if (account.own && account.role === 'owner') return (await get('/account/members', membersShape)).data
  return [(await get(ofAccount('/account'), accountShape)).owner]
}
