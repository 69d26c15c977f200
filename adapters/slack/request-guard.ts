import type { IncomingHttpHeaders } from 'node:http'

/** How far Slack's clock and ours may be apart, either way (T36). */
const WINDOW_SECONDS = 300

/**
 * What is wrong with the headers of a request that says it comes from Slack; undefined: nothing, its signature can be
 * checked. Bolt checks that, but takes timestamps of any future, any version before the `=` of the signature (which is
 * then part of what is hashed) and anything after a second `=`: one request would have many signatures.
 */
export function findForgery(headers: IncomingHttpHeaders, now: Date): string | undefined {
  const timestamp = headers['x-slack-request-timestamp']
  const signature = headers['x-slack-signature']
  if (typeof timestamp !== 'string' || !/^\d{1,11}$/.test(timestamp)) return 'no timestamp'
  if (typeof signature !== 'string' || !/^v0=[0-9a-f]{64}$/.test(signature)) return 'no signature'
  const apart = Math.floor(now.getTime() / 1000) - Number(timestamp)
  return Math.abs(apart) > WINDOW_SECONDS ? `the timestamp is ${apart} seconds old` : undefined
}
