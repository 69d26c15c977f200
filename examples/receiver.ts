import { createHmac, timingSafeEqual } from 'node:crypto'
import events from 'node:events'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'

const secrets = (process.env.WEBHOOK_SECRETS ?? '').split(' ').filter((secret) => secret !== '')
const done = new Set() // in production a unique column, filled in the transaction that acts
events.captureRejections = true // what throws below is answered 500, and the callback comes again

createServer(async (request, response) => {
  const { 'webhook-id': id, 'webhook-timestamp': sent, 'webhook-signature': given } = request.headers
  if (!(Number(request.headers['content-length']) <= 65_536)) return response.writeHead(413).end()
  const body = await buffer(request)
  const macs = secrets.map((key) => createHmac('sha256', key).update(`${id}.${sent}.`).update(body).digest())
  const offered = `${given}`.split(' ').map((text) => Buffer.from(text.replace('v1,', ''), 'base64'))
  const genuine = offered.some((a) => macs.some((b) => a.length === b.length && timingSafeEqual(a, b)))
  if (!genuine) return response.writeHead(401).end()
  if (!(Math.abs(Date.now() / 1000 - Number(sent)) <= 300)) return response.writeHead(400).end()
  const receipt = JSON.parse(JSON.parse(body.toString()).signed_receipt.canonical_payload)
  if (receipt.sandbox || receipt.method === 'sandbox') return response.writeHead(403).end()
  if (!done.has(id)) console.log(receipt.rid, receipt.decision) // act here, or put it into a queue
  done.add(id)
  return response.writeHead(200).end()
}).listen(4000, '127.0.0.1')
