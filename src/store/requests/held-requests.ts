import mongoose from 'mongoose'
import type { ApprovalRequest } from '../../domain/request.ts'
import { UNEXPIRED } from '../mongo/filters.ts'
import { type RequestDocument, requestOf } from './request-schema.ts'

const { trusted } = mongoose

type Filter = mongoose.QueryFilter<RequestDocument>

/** What a restore holds: requests that can still be decided, or approvals that can still be used. */
export type HeldKind = 'pending' | 'approved'

/** Reads for the operator alone: they may look through all requests of that status. */
export function heldReads(model: mongoose.Model<RequestDocument>) {
  const heldBy = (restore: string, kind: HeldKind): Filter => ({
    status: kind,
    made_after: trusted({ $ne: restore }),
    released: trusted({ $ne: restore }),
    ...(kind === 'pending' ? { $expr: UNEXPIRED } : { consumed_at: null }),
  })
  return {
    /** Returns requests that this restore holds, the first to expire first. */
    async held(restore: string, kind: HeldKind, limit: number): Promise<ApprovalRequest[]> {
      const query = model.find(heldBy(restore, kind)).sort({ expires_at: 1 }).limit(limit)
      return (await query.lean<RequestDocument[]>()).map(requestOf)
    },
    countHeld: (restore: string, kind: HeldKind): Promise<number> =>
      model.countDocuments(heldBy(restore, kind)),
  }
}

/** The condition of writes that must wait for the operator while a restore holds what its copy left open (`isHeldBy`). */
export function notHeld(hold: string | undefined): Filter {
  return hold === undefined ? {} : { $or: [{ made_after: hold }, { released: hold }] }
}
