import {
  type ChatChannel,
  type ChatIdentity,
  channelsShape,
  identitiesShape,
} from '../../webauthn-page/kit/api/contract.ts'
import { get, RequestFailure } from '../../webauthn-page/kit/api/request.ts'
import { type ChatApps, chatAppsShape } from './chat-shapes.ts'

/** How chat is set up, or why that could not be read: the rest of the page does not wait for it. */
export type ChatSetup =
  | { apps: ChatApps; channels: ChatChannel[]; identities: ChatIdentity[] }
  | { failure: unknown }

/** Never throws, except that nobody is signed in. @throws RequestFailure 401 */
export async function loadChatSetup(): Promise<ChatSetup> {
  try {
    const [apps, { data: channels }, { identities }] = await Promise.all([
      get('/account/chat-apps', chatAppsShape),
      get('/account/channels', channelsShape),
      get('/me/chat', identitiesShape),
    ])
    return { apps, channels, identities }
  } catch (failure) {
    if (failure instanceof RequestFailure && failure.status === 401) throw failure
    return { failure }
  }
}
