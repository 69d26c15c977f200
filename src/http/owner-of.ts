import type { Request, Response } from 'express'
import type { Owner } from '../flow/webhooks/manage-webhooks.ts'
import { clientAddress } from './middleware/client-address.ts'
import { sessionOf } from './middleware/session.ts'

/** The signed-in person as the owner of their account. Only behind `requireSession`. */
export function ownerOf(request: Request, response: Response): Owner {
  const { user } = sessionOf(response)
  const actor = { kind: 'user', id: user.id, address: clientAddress(request) } as const
  return { accountId: user.account_id, actor }
}
