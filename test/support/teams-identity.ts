import { createHmac, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { bodyOf, closeServer, listenLocally, sendJson } from './local-server.ts'

const BOT_ISSUER = 'https://api.botframework.com'

/**
 * Keys by what the published document says of them: endorsed for Teams, for another channel, without any endorsement, too
 * small, not RSA. `stranger` signs under the id of the endorsed key, and is published nowhere.
 */
type KeyName = 'endorsed' | 'webchat' | 'bare' | 'small' | 'curve' | 'stranger'

/** Where a token differs from an honest one. */
export interface TokenKnobs {
  /** Laid over the honest claims; undefined leaves one out. */
  claims?: Record<string, unknown>
  /** Laid over the honest header. */
  header?: Record<string, unknown>
  key?: KeyName
  /** Signed with this secret (HS256) instead. */
  secret?: string
  /** No signature at all. */
  unsigned?: boolean
}

/** What the token endpoint does next. */
type TokenMood = 'grant' | 'refuse' | 'hang' | { status: number; body: unknown }

/** Microsoft's sign-in as a bot sees it: the OpenID document, its keys, and tokens for the bot. */
export interface TeamsIdentity {
  /** Settings of the service. */
  openIdUrl: string
  loginUrl: string
  /** A token as Teams would send it to the bot, for this service address. */
  tokenFor(serviceUrl: string, knobs?: TokenKnobs): string
  /** PEM text of the endorsed public key: what an attacker would sign HS256 with. */
  publicPem: string
  /** Did we grant this bearer token, and is it still good? */
  isGranted(token: string): boolean
  /** Takes back every token that was granted. */
  revokeAll(): void
  mood: TokenMood
  /** How often the OpenID document still answers; then 500, or nothing at all. */
  keysAnswer: number
  keysHang: boolean
  /** How often each address was asked. */
  asked: { metadata: number; keys: number; tokens: number }
  close(): Promise<void>
}

export interface IdentityOptions {
  appId: string
  appPassword: string
  tenantId: string
}

const KID = 'endorsed-key'

/** Starts one on 127.0.0.1. */
export async function startTeamsIdentity(options: IdentityOptions): Promise<TeamsIdentity> {
  made ??= makeKeys()
  const keys = made
  const granted = new Set<string>()
  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy())
  })
  const url = await listenLocally(server)
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname } = new URL(request.url ?? '/', url)
    if (pathname === '/openid') {
      it.asked.metadata += 1
      it.keysAnswer -= 1
      if (it.keysAnswer < 0 && it.keysHang) return
      if (it.keysAnswer < 0) return sendJson(response, 500, { error: 'down' })
      return sendJson(response, 200, { issuer: BOT_ISSUER, jwks_uri: `${url}/keys` })
    }
    if (pathname === '/keys') {
      it.asked.keys += 1
      return sendJson(response, 200, { keys: published(keys) })
    }
    if (pathname !== `/${options.tenantId}/oauth2/v2.0/token`) return sendJson(response, 404, {})
    it.asked.tokens += 1
    const form = new URLSearchParams(await bodyOf(request))
    if (it.mood === 'hang') return
    if (typeof it.mood === 'object') return sendJson(response, it.mood.status, it.mood.body)
    if (it.mood === 'refuse' || !isOurs(form, options)) {
      return sendJson(response, 401, { error: 'invalid_client', error_description: 'AADSTS7000215' })
    }
    const access_token = randomUUID()
    granted.add(access_token)
    sendJson(response, 200, { token_type: 'Bearer', expires_in: 3599, access_token })
  }
  const it: TeamsIdentity = {
    openIdUrl: `${url}/openid`,
    loginUrl: url,
    publicPem: keys.endorsed.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    tokenFor: (serviceUrl, knobs = {}) => tokenOf(keys, options.appId, serviceUrl, knobs),
    isGranted: (token) => granted.has(token),
    revokeAll: () => granted.clear(),
    mood: 'grant',
    keysAnswer: Number.POSITIVE_INFINITY,
    keysHang: false,
    asked: { metadata: 0, keys: 0, tokens: 0 },
    close: () => closeServer(server),
  }
  return it
}

/** Of all that this process starts: an RSA key takes a third of a second. */
let made: Keys | undefined

type Keys = Readonly<Record<KeyName, { publicKey: KeyObject; privateKey: KeyObject }>>

/** The large ones are one key under three names: only by its name can a bot tell that a signature is not of an endorsed one. */
function makeKeys(): Keys {
  const rsa = (modulusLength = 2048) => generateKeyPairSync('rsa', { modulusLength })
  const large = rsa()
  let stranger: typeof large | undefined
  return {
    endorsed: large,
    webchat: large,
    bare: large,
    small: rsa(1024),
    curve: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    get stranger() {
      stranger ??= rsa()
      return stranger
    },
  }
}

const ENDORSEMENTS: Partial<Record<KeyName, string[]>> = {
  endorsed: ['msteams', 'skype'],
  webchat: ['webchat', 'directline'],
  small: ['msteams'],
  curve: ['msteams'],
}

function published(keys: Keys): object[] {
  const names: KeyName[] = ['endorsed', 'webchat', 'bare', 'small', 'curve']
  return names.map((name) => ({
    ...keys[name].publicKey.export({ format: 'jwk' }),
    use: 'sig',
    kid: kidOf(name),
    ...(ENDORSEMENTS[name] && { endorsements: ENDORSEMENTS[name] }),
  }))
}

function kidOf(name: KeyName): string {
  return name === 'endorsed' || name === 'stranger' ? KID : `${name}-key`
}

function tokenOf(keys: Keys, appId: string, serviceUrl: string, knobs: TokenKnobs): string {
  const { key = 'endorsed', secret, unsigned = false } = knobs
  const now = Math.floor(Date.now() / 1000)
  const claims = {
    serviceurl: serviceUrl,
    nbf: now - 60,
    exp: now + 3600,
    iss: BOT_ISSUER,
    aud: appId,
    ...knobs.claims,
  }
  const header = {
    alg: secret === undefined ? 'RS256' : 'HS256',
    typ: 'JWT',
    kid: kidOf(key),
    ...knobs.header,
  }
  const signed = `${part(header)}.${part(claims)}`
  if (unsigned) return `${signed}.`
  if (secret !== undefined) return `${signed}.${hmac(secret, signed)}`
  const hash = String(header.alg).endsWith('512') ? 'sha512' : 'sha256'
  return `${signed}.${sign(hash, Buffer.from(signed), keys[key].privateKey).toString('base64url')}`
}

function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function hmac(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text).digest('base64url')
}

function isOurs(form: URLSearchParams, { appId, appPassword }: IdentityOptions): boolean {
  return (
    form.get('grant_type') === 'client_credentials' &&
    form.get('client_id') === appId &&
    form.get('client_secret') === appPassword &&
    form.get('scope') === 'https://api.botframework.com/.default'
  )
}
