import type { IncomingHttpHeaders } from 'node:http'
import { ExpressReceiver } from '@slack/bolt'
import { refusal } from '../../src/domain/errors.ts'
import { warnSeldom } from '../../src/flow/delivery/warn-seldom.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import type { Mount } from '../../src/http/http-deps.ts'
import type { SlackApp } from './slack-app.ts'
import { createSlackLog } from './web-client.ts'

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
  // Open to the internet: strangers must not be able to fill the log.
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

/** How far Slack's clock and ours may be apart, either way (T36). */
const WINDOW_SECONDS = 300

/**
 * What is wrong with the headers of a request that says it comes from Slack; undefined: nothing, its signature can be
 * checked. Bolt checks that, but takes timestamps of any future, any version before the `=` of the signature (which is
 * then part of what is hashed) and anything after a second `=`: one request would have many signatures.
 */
function findForgery(headers: IncomingHttpHeaders, now: Date): string | undefined {
  const timestamp = headers['x-slack-request-timestamp']
  const signature = headers['x-slack-signature']
  if (typeof timestamp !== 'string' || !/^\d{1,11}$/.test(timestamp)) return 'no timestamp'
  if (typeof signature !== 'string' || !/^v0=[0-9a-f]{64}$/.test(signature)) return 'no signature'
  const apart = Math.floor(now.getTime() / 1000) - Number(timestamp)
  return Math.abs(apart) > WINDOW_SECONDS ? `the timestamp is ${apart} seconds old` : undefined
}
