import { createDecipheriv, type ECDH, hkdfSync } from 'node:crypto'

/** The browser's side of a subscription: its key pair and its authentication secret. */
export interface PushSecrets {
  ecdh: ECDH
  auth: Buffer
}

/**
 * Opens a message as a browser does (RFC 8291 §3.4 over RFC 8188, one record), written from the RFCs alone.
 * @throws when it is not for these secrets, or not well formed
 */
export function decryptPush({ ecdh, auth }: PushSecrets, body: Buffer): string {
  const salt = body.subarray(0, 16)
  const recordSize = body.readUInt32BE(16)
  const keyLength = body.readUInt8(20)
  const sender = body.subarray(21, 21 + keyLength)
  const record = body.subarray(21 + keyLength)
  if (record.length > recordSize) throw new Error('more than one record')
  const keyInfo = Buffer.concat([Buffer.from('WebPush: info\0'), ecdh.getPublicKey(), sender])
  const ikm = derive(ecdh.computeSecret(sender), auth, keyInfo, 32)
  const key = derive(ikm, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16)
  const nonce = derive(ikm, salt, Buffer.from('Content-Encoding: nonce\0'), 12)
  const decipher = createDecipheriv('aes-128-gcm', key, nonce)
  decipher.setAuthTag(record.subarray(-16))
  const padded = Buffer.concat([decipher.update(record.subarray(0, -16)), decipher.final()])
  const end = padded.lastIndexOf(2)
  if (end < 0 || padded.subarray(end + 1).some((byte) => byte !== 0)) throw new Error('no delimiter')
  return padded.subarray(0, end).toString('utf8')
}

function derive(key: Buffer, salt: Buffer, info: Buffer, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', key, salt, info, length))
}
