import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { HashPurpose } from '../../src/ports/ports.ts'
import { fromBase64Url, toBase64Url } from '../../src/signing/base64.ts'
import { equalHex } from '../../src/signing/digest.ts'
import {
  createVault,
  hkdf,
  hmacSha256,
  open,
  SealError,
  seal,
  webhookSecret,
} from '../../src/signing/vault.ts'
import { bytes, hex, vectors } from './fixtures.ts'

interface Group<T> {
  testGroups: { tagSize?: number; tests: (T & { tcId: number; result: string })[] }[]
}
const hkdfFile = vectors<Group<{ ikm: string; salt: string; info: string; size: number; okm: string }>>(
  'wycheproof/hkdf_sha256_test.json',
)
const hmacFile = vectors<Group<{ key: string; msg: string; tag: string }>>('wycheproof/hmac_sha256_test.json')

describe('derivation', () => {
  it('gives all 86 Wycheproof HKDF-SHA256 results', () => {
    const tests = hkdfFile.testGroups.flatMap((group) => group.tests)
    expect(tests).toHaveLength(86)
    for (const { ikm, salt, info, size, okm, result, tcId } of tests) {
      const derive = () => hkdf(bytes(ikm), bytes(salt), bytes(info), size).toString('hex')
      if (result === 'valid') expect(derive(), `tcId ${tcId}`).toBe(okm)
      else expect(derive, `tcId ${tcId}`).toThrow(RangeError)
    }
  })

  it('gives the right verdict on all 174 Wycheproof HMAC-SHA256 tags', () => {
    const tests = hmacFile.testGroups.flatMap((group) =>
      group.tests.map((test) => ({ ...test, size: group.tagSize })),
    )
    expect(tests).toHaveLength(174)
    for (const { key, msg, tag, result, tcId, size = 0 } of tests) {
      const made = hmacSha256(bytes(key), bytes(msg))
        .subarray(0, size / 8)
        .toString('hex')
      expect(equalHex(made, tag), `tcId ${tcId}`).toBe(result === 'valid')
    }
  })

  it('derives webhook secrets that differ by key and by rotation, as HKDF of the documented inputs', () => {
    const master = new Uint8Array(32).fill(7)
    const first = webhookSecret(master, 'key_a', 0)
    expect(first).toMatch(/^[0-9a-f]{64}$/)
    // HMAC extract and expand by hand (RFC 5869 section 2).
    const prk = hmacSha256('human-approval/webhook/v1', master)
    expect(first).toBe(
      hmacSha256(prk, Buffer.concat([Buffer.from('key:key_a:0'), Buffer.of(1)])).toString('hex'),
    )
    expect(new Set([first, webhookSecret(master, 'key_a', 1), webhookSecret(master, 'key_b', 0)]).size).toBe(
      3,
    )
    expect(() => webhookSecret(master, 'key_a', -1)).toThrow(/whole number/)
    expect(() => webhookSecret(master, 'key_a', 0.5)).toThrow(RangeError)
  })
})

describe('the vault', () => {
  const secret = (fill: number) => new Uint8Array(32).fill(fill)
  const vault = createVault({
    API_KEY_PEPPER: secret(1),
    TOKEN_SECRET: secret(2),
    SEALING_KEY: secret(3),
    WEBHOOK_MASTER_SECRET: secret(4),
  })
  const derived = (fill: number, label: string, info: string, size: number) =>
    Buffer.from(hkdfSync('sha256', secret(fill), label, info, size))
  const PURPOSES: HashPurpose[] = [
    'session',
    'device',
    'enrollment',
    'backup-code',
    'approver',
    'internal-token',
    'chat-link',
    'bootstrap',
    'bootstrap-email',
    'push-endpoint',
    'mail-code',
  ]

  it('hashes under one key per purpose, with the labels that every store was written with', () => {
    const hashed = (key: Buffer) => createHmac('sha256', key).update('value').digest('hex')
    expect(vault.hash('api-key', 'value')).toBe(hashed(derived(1, 'human-approval/api-key/v1', '', 32)))
    for (const purpose of PURPOSES)
      expect(vault.hash(purpose, 'value'), purpose).toBe(
        hashed(derived(2, 'human-approval/token/v1', purpose, 32)),
      )
    expect(new Set(PURPOSES.map((purpose) => vault.hash(purpose, 'value'))).size).toBe(PURPOSES.length)
  })

  it('seals and fingerprints with the labels that every store was written with', () => {
    const sealed = vault.seal(Buffer.from('seed'), 'usr_1')
    expect(hex(open(sealed, derived(3, 'human-approval/seal/v1', '', 32), 'usr_1'))).toBe(
      hex(Buffer.from('seed')),
    )
    const print = (fill: number) => derived(fill, 'human-approval/fingerprint/v1', '', 8).toString('hex')
    expect(vault.fingerprints()).toEqual({
      API_KEY_PEPPER: print(1),
      TOKEN_SECRET: print(2),
      WEBHOOK_MASTER_SECRET: print(4),
    })
  })
})

describe('sealing', () => {
  const key = new Uint8Array(32).fill(9)
  const plain = Buffer.from('twenty bytes of seed')

  it('opens what it sealed, and never seals twice alike', () => {
    const sealed = seal(plain, key, 'usr_a')
    expect(sealed).toMatch(/^v1\.[\w-]{16}\.[\w-]+$/)
    expect(hex(open(sealed, key, 'usr_a'))).toBe(hex(plain))
    expect(seal(plain, key, 'usr_a')).not.toBe(sealed)
    expect(open(seal(new Uint8Array(), key, ''), key, '')).toHaveLength(0)
  })

  it('T28: two users’ sealed seeds that were swapped do not open', () => {
    const a = seal(Buffer.from('seed of a'), key, 'usr_a')
    const b = seal(Buffer.from('seed of b'), key, 'usr_b')
    expect(() => open(b, key, 'usr_a')).toThrow(SealError)
    expect(() => open(a, key, 'usr_b')).toThrow('sealed value does not open for this owner and key')
  })

  it('T28: a database copy is useless without the key', () => {
    expect(() => open(seal(plain, key, 'usr_a'), new Uint8Array(32).fill(8), 'usr_a')).toThrow(SealError)
  })

  it('refuses every altered character', () => {
    const sealed = seal(plain, key, 'usr_a')
    for (let at = 0; at < sealed.length; at += 1) {
      const other = sealed[at] === 'A' ? 'B' : 'A'
      expect(() => open(sealed.slice(0, at) + other + sealed.slice(at + 1), key, 'usr_a')).toThrow(SealError)
    }
  })

  it.each(['', 'v1', 'v1..', 'v1.AAAA.AAAA', 'v2.AAAAAAAAAAAAAAAA.AAAAAAAAAAAAAAAAAAAAAA', 'v1.a.b.c'])(
    'refuses the malformed value %j',
    (text) => expect(() => open(text, key, '')).toThrow(SealError),
  )

  it('refuses a shortened tag, which would be easier to forge', () => {
    const [, iv = '', body = ''] = seal(new Uint8Array(), key, '').split('.')
    const short = toBase64Url(fromBase64Url(body).subarray(0, 12))
    expect(() => open(`v1.${iv}.${short}`, key, '')).toThrow(SealError)
  })

  it('refuses an IV of another length, though its tag is right', () => {
    const iv = Buffer.alloc(16, 3)
    const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from('a'))
    const body = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()])
    expect(() => open(`v1.${toBase64Url(iv)}.${toBase64Url(body)}`, key, 'a')).toThrow(SealError)
  })

  it('is plain AES-256-GCM with the AAD as given, so other tools can read it', () => {
    const iv = Buffer.alloc(12, 3)
    const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from('usr_ä'))
    const body = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()])
    expect(hex(open(`v1.${iv.toString('base64url')}.${body.toString('base64url')}`, key, 'usr_ä'))).toBe(
      hex(plain),
    )

    const [, ivText = '', bodyText = ''] = seal(plain, key, 'usr_ä').split('.')
    const sealed = fromBase64Url(bodyText)
    const decipher = createDecipheriv('aes-256-gcm', key, fromBase64Url(ivText)).setAAD(Buffer.from('usr_ä'))
    decipher.setAuthTag(sealed.subarray(-16))
    expect(hex(Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]))).toBe(hex(plain))
  })

  it('refuses a key of another length as a misuse', () => {
    expect(() => seal(plain, new Uint8Array(16), '')).toThrow(RangeError)
    expect(() => open('v1', new Uint8Array(31), '')).toThrow('a sealing key has 32 bytes')
  })
})
