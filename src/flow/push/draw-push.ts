import { isWaiting } from '../../domain/bootstrap.ts'
import type { Push } from '../../domain/push.ts'
import { consentPush, noticePush, type PushPayload, requestPush, TEST_PUSH } from '../../domain/push.ts'
import type { FlowDeps } from '../deps.ts'
import { whomToPush } from './whom-to-push.ts'

type DrawDeps = Pick<FlowDeps, 'requests' | 'bootstraps' | 'accounts' | 'users' | 'clock'>

/** What a push says, and how urgent that is. */
export interface DrawnPush {
  payload: PushPayload
  urgency: 'high' | 'normal'
}

/**
 * What the push says now, from what is stored now.
 * @returns undefined when there is nothing to say any more: decided, lapsed, voted, not theirs to decide
 */
export async function drawPush(deps: DrawDeps, push: Push): Promise<DrawnPush | undefined> {
  const { about, event_id, user_id } = push
  const now = deps.clock.now()
  switch (about.kind) {
    case 'test':
      return { payload: TEST_PUSH, urgency: 'high' }
    case 'notice':
      return { payload: noticePush(about.notice, event_id), urgency: 'high' }
    case 'consent': {
      const bootstrap = await deps.bootstraps.find(about.bootstrap_id)
      if (bootstrap === undefined || !isWaiting(bootstrap, now)) return undefined
      return { payload: consentPush(bootstrap), urgency: 'high' }
    }
    case 'request':
    case 'reminder': {
      const request = await deps.requests.find(about.request_id)
      if (request?.status !== 'pending' || request.expires_at <= now) return undefined
      if (!(await whomToPush(deps, request, now)).includes(user_id)) return undefined
      return { payload: requestPush(request, about.kind), urgency: 'high' }
    }
  }
}
