import type { chatAppsAnswer } from '../../src/http/api/chat.ts'
import type { deliveryAnswer, deliveryListAnswer } from '../../src/http/api/deliveries.ts'
import type { Answer } from '../../src/http/api/shared/fields.ts'
import type {
  createdWebhookAnswer,
  listedWebhookAnswer,
  rotatedWebhookAnswer,
  webhookListAnswer,
} from '../../src/http/api/webhooks.ts'
import { answer } from '../../webauthn-page/kit/api/shape.ts'

/** One delivery of an event to a webhook, in progress or finished. */
export type Delivery = Answer<typeof deliveryAnswer>
export const deliveryShape = answer<Delivery>()
export type DeliveryPage = Answer<typeof deliveryListAnswer>
export const deliveryPageShape = answer<DeliveryPage>()

/** A webhook of the account. */
export type Webhook = Answer<typeof listedWebhookAnswer>
export const webhookShape = answer<Webhook>()
export const webhooksShape = answer<Answer<typeof webhookListAnswer>>()
export const newWebhookShape = answer<Answer<typeof createdWebhookAnswer>>()
export const rotatedShape = answer<Answer<typeof rotatedWebhookAnswer>>()

/** `GET /account/chat-apps` */
export type ChatApps = Answer<typeof chatAppsAnswer>
export const chatAppsShape = answer<ChatApps>()

/** A Slack workspace whose members get cards of the account. */
export type SlackWorkspace = ChatApps['slack']['installations'][number]
