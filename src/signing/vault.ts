import type { HashPurpose, Vault } from '../flow/ports.ts'
import { hkdf, hmacSha256, webhookSecret } from './derive.ts'
import { open, seal } from './seal.ts'

/** The service's secrets, each at least 32 bytes. */
export interface VaultSecrets {
  API_KEY_PEPPER: Uint8Array
  TOKEN_SECRET: Uint8Array
  SEALING_KEY: Uint8Array
  WEBHOOK_MASTER_SECRET: Uint8Array
}

/** Derives one key per use and keeps the secrets to itself. */
export function createVault(secrets: VaultSecrets): Vault {
  const sealingKey = hkdf(secrets.SEALING_KEY, 'human-approval/seal/v1', '', 32)
  const tokenKey = (purpose: HashPurpose) =>
    hkdf(secrets.TOKEN_SECRET, 'human-approval/token/v1', purpose, 32)
  const keys: Record<HashPurpose, Buffer> = {
    'api-key': hkdf(secrets.API_KEY_PEPPER, 'human-approval/api-key/v1', '', 32),
    session: tokenKey('session'),
    device: tokenKey('device'),
    enrollment: tokenKey('enrollment'),
    'backup-code': tokenKey('backup-code'),
    approver: tokenKey('approver'),
    'internal-token': tokenKey('internal-token'),
    'chat-link': tokenKey('chat-link'),
    bootstrap: tokenKey('bootstrap'),
    'bootstrap-email': tokenKey('bootstrap-email'),
    'push-endpoint': tokenKey('push-endpoint'),
  }
  return {
    hash: (purpose, value) => hmacSha256(keys[purpose], value).toString('hex'),
    seal: (plaintext, aad) => seal(plaintext, sealingKey, aad),
    open: (sealed, aad) => open(sealed, sealingKey, aad),
    webhookSecret: (keyId, version) => webhookSecret(secrets.WEBHOOK_MASTER_SECRET, keyId, version),
  }
}
