import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** What a receiver that knows its secret thinks of a delivery. */
export interface Signed {
  /** `X-Service-Signature` over `<timestamp>.<raw body>`, at most 300 s old (interface, "Delivery headers and signature"). */
  service: boolean
  /** `webhook-signature` over `<id>.<timestamp>.<raw body>`, as Standard Webhooks has it. */
  standard: boolean
}

/** The interface's tolerance. */
const TOLERANCE_SECONDS = 300

/** Judges both schemes, as written down for receivers and by nothing of the service's own code. */
export function verdictOn(
  delivery: { headers: IncomingHttpHeaders; body: Buffer; at: number },
  secrets: readonly string[],
): Signed {
  const { headers, body, at } = delivery
  const fresh = (seconds: unknown): seconds is string =>
    typeof seconds === 'string' &&
    /^\d+$/.test(seconds) &&
    Math.abs(at / 1000 - Number(seconds)) <= TOLERANCE_SECONDS
  const mac = (secret: string, head: string): Buffer =>
    createHmac('sha256', secret).update(`${head}.`).update(body).digest()

  const serviceTime = headers['x-service-timestamp']
  const hex = /^sha256=([0-9a-f]{64})$/.exec(String(headers['x-service-signature']))?.[1]
  const service =
    hex !== undefined &&
    fresh(serviceTime) &&
    secrets.some((secret) => timingSafeEqual(mac(secret, serviceTime), Buffer.from(hex, 'hex')))

  const standardTime = headers['webhook-timestamp']
  const offered = String(headers['webhook-signature'] ?? '')
    .split(' ')
    .filter((signature) => signature.startsWith('v1,'))
    .map((signature) => Buffer.from(signature.slice(3), 'base64'))
  const standard =
    fresh(standardTime) &&
    secrets.some((secret) => {
      const expected = mac(secret, `${headers['webhook-id']}.${standardTime}`)
      return offered.some((given) => given.length === expected.length && timingSafeEqual(given, expected))
    })
  return { service, standard }
}
