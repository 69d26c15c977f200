import { webApi } from '@slack/bolt'
import type { Log } from '../../src/flow/ports.ts'
import { createSlackLog } from './slack-log.ts'

/** Milliseconds that one call may take, its answer included. */
export const CALL_MS = 5_000

/** A client that calls once: the outbox tries again, and knows what it tried. Left alone it would post a card many times. */
export function createWebClient(apiUrl: string, token: string, log: Log): webApi.WebClient {
  return new webApi.WebClient(token, {
    slackApiUrl: apiUrl,
    allowAbsoluteUrls: false,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    timeout: CALL_MS,
    logger: createSlackLog(log),
  })
}
