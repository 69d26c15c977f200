import { ExpressReceiver } from '@slack/bolt'
import { refusal } from '../../src/domain/errors.ts'
import { warnSeldom } from '../../src/flow/delivery/warn-seldom.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { Mount } from '../../src/http/http-deps.ts'
import { findForgery } from './request-guard.ts'
import type { SlackApp } from './slack-app.ts'
import { createSlackLog } from './slack-log.ts'

const PATH = '/slack/events'

/** A command with a whole pasted receipt is some 20 KB. */
const BODY_LIMIT = '256kb'

/** `POST /slack/events`. Must come before every body parser: signed are the bytes as they came. */
export function mountEvents(
  app: Parameters<Mount>[0],
  signingSecret: string,
  { log, clock }: Pick<FlowDeps, 'log' | 'clock'>,
  connect: (receiver: ExpressReceiver) => SlackApp,
): void {
  // Anybody can post here: they must not fill the log.
  const refused = warnSeldom(log, 'a request that is not from slack was refused')
  app.post(PATH, (request, _response, next) => {
    const forgery = findForgery(request.headers, clock.now())
    if (forgery === undefined) return next()
    refused.failed(forgery)
    next(refusal('chat_signature_refused'))
  })
  connect(
    new ExpressReceiver({
      app,
      signingSecret,
      endpoints: { events: PATH },
      bodyLimit: BODY_LIMIT,
      logger: { ...createSlackLog(log), warn: (...said) => refused.failed(said.map(String).join(' ')) },
      customPropertiesExtractor: ({ headers, res }) => ({
        delivery: String(headers['x-slack-signature']),
        request_id: String(res?.getHeader('X-Request-Id') ?? ''),
      }),
      processEventErrorHandler: async ({ response }) => sendAgain(response),
      unhandledRequestHandler: ({ response }) => void sendAgain(response),
    }),
  )
}

/** Slack sends an event again that was answered so: nothing was done with it. */
function sendAgain(response: { headersSent: boolean; writeHead(status: number): { end(): void } }): true {
  if (!response.headersSent) response.writeHead(503).end()
  return true
}
