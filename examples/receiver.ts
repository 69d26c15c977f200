import { createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto'
import events from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'

const secrets = (process.env.WEBHOOK_SECRETS ?? '').split(' ').filter((secret) => secret !== '')
// Persons' decisions alone, by a pinned key: one out of a message would be its author's. Save the file again after a rotation.
function trusted(kid = '') {
  for (const key of JSON.parse(readFileSync('jwks.json', 'utf8')).keys)
    if (key.kid === kid && key.purpose === 'decision' && !key.revoked_at) return key
}
function read(text = '') {
  try {
    const { request_id: asked, signed_receipt: said } = JSON.parse(text)
    const [payload, signature] = [Buffer.from(said.canonical_payload), Buffer.from(said.signature, 'base64')]
    return { asked, payload, signature, kid: said.public_key_id }
  } catch {
    return undefined
  }
}
trusted() // without the file it does not start
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
  const now = Date.now() / 1000
  if (!(Math.abs(now - Number(sent)) <= 300)) return response.writeHead(400).end()

  // Any holder of the API key can sign a callback. That a person decided, only the receipt's own signature proves.
  const told = read(body.toString())
  if (!told) return response.writeHead(400).end()
  const { asked, payload, signature, kid } = told
  const jwk = trusted(kid)
  const key = jwk && createPublicKey({ key: jwk, format: 'jwk' })
  const proven = key && verify(null, payload, key, signature)
  const receipt = proven ? JSON.parse(payload.toString()) : {}
  if (receipt.rid !== asked || !(Math.abs(now - receipt.ts) <= 900)) return response.writeHead(403).end()

  if (!done.has(asked)) console.log(asked, receipt.decision) // act here, on what you asked under this id
  done.add(asked)
  return response.writeHead(200).end()
}).listen(Number(process.env.PORT ?? 4000), '127.0.0.1')
