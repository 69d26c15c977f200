import { createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto'
import events from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'

const secrets = (process.env.WEBHOOK_SECRETS ?? '').split(' ').filter((secret) => secret !== '')
if (secrets.length === 0) {
  console.error('WEBHOOK_SECRETS is not set: it takes the webhook_signing_secret of the key that asks.')
  process.exit(1)
}
// Accepts only people's decisions, and only keys from the saved file: a key taken from the message would be its author's own.
// Save the file again after a rotation.
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
if (!existsSync('jwks.json')) {
  console.error('jwks.json is not in this folder: it takes what the service has at /.well-known/jwks.json.')
  process.exit(1)
}
trusted() // stops here if the file is not a key set
const done = new Set() // in production: a unique column, filled in the transaction that acts
events.captureRejections = true // an error below is answered with 500, and the callback comes again

createServer(async (request, response) => {
  function refuse(status = 400, reason = '') {
    console.error(`refused (${status}): ${reason}`) // logs neither a secret nor what the sender wrote
    response.writeHead(status).end()
  }
  const { 'webhook-id': id, 'webhook-timestamp': sent, 'webhook-signature': given } = request.headers
  if (!(Number(request.headers['content-length']) <= 65_536))
    return refuse(413, 'longer than 65,536 bytes, or of no stated length')
  const body = await buffer(request)
  const macs = secrets.map((key) => createHmac('sha256', key).update(`${id}.${sent}.`).update(body).digest())
  const offered = `${given}`.split(' ').map((text) => Buffer.from(text.replace('v1,', ''), 'base64'))
  const genuine = offered.some((a) => macs.some((b) => a.length === b.length && timingSafeEqual(a, b)))
  if (!genuine)
    return refuse(401, 'signed with none of WEBHOOK_SECRETS: each key has its own, a sandbox key too')
  const now = Date.now() / 1000
  if (!(Math.abs(now - Number(sent)) <= 300)) return refuse(400, 'sent more than 300 s away from this clock')

  // Any holder of the API key can sign a callback. Only the receipt's own signature proves that a person decided.
  const told = read(body.toString())
  if (!told) return refuse(400, 'not the body of a callback')
  const { asked, payload, signature, kid } = told
  const jwk = trusted(kid)
  if (!jwk)
    return refuse(
      403,
      'by no key of jwks.json for what people decide: rotated since it was saved, or a sandbox key',
    )
  if (!verify(null, payload, createPublicKey({ key: jwk, format: 'jwk' }), signature))
    return refuse(403, 'the receipt is forged')
  const receipt = JSON.parse(payload.toString())
  if (receipt.rid !== asked) return refuse(403, 'the receipt is that of another request')
  if (!(Math.abs(now - receipt.ts) <= 900)) return refuse(403, 'decided more than 15 minutes ago')

  if (!done.has(asked)) console.log(asked, receipt.decision) // act here, on what you asked for under this id
  done.add(asked)
  return response.writeHead(200).end()
})
  .on('clientError', (_error, socket) => {
    if (!socket.writable) return
    console.error('refused (400): not a POST, or its head cannot be read')
    socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
  })
  .listen(Number(process.env.RECEIVER_PORT ?? 4000), '127.0.0.1')
