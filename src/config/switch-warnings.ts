import { meantField } from '../domain/near-miss.ts'

interface Switches {
  CALLBACK_ALLOW_PRIVATE: string
  TEAMS_ALLOW_UNAUTHENTICATED: string
  FIDO_METADATA_FILE?: string | undefined
  FIDO_METADATA_ROOTS?: string | undefined
}

/** Returns warnings about settings that open what is otherwise closed, or that have no effect. */
export function switchWarnings(values: Switches): string[] {
  const warnings: string[] = []
  if (values.CALLBACK_ALLOW_PRIVATE === '1')
    warnings.push(
      'CALLBACK_ALLOW_PRIVATE: lets callers have this machine and private networks called, also over http:; for development only',
    )
  if (values.TEAMS_ALLOW_UNAUTHENTICATED === '1')
    warnings.push(
      'TEAMS_ALLOW_UNAUTHENTICATED: believes any client that claims to be Teams, as any person; for local test clients only',
    )
  if (values.FIDO_METADATA_ROOTS !== undefined && values.FIDO_METADATA_FILE === undefined)
    warnings.push('FIDO_METADATA_ROOTS: has no effect without FIDO_METADATA_FILE, the file that they sign')
  return warnings
}

/** Names that only this machine and its network know, where development mode is in order. */
const LOCAL_HOST = /^localhost$|\.(?:localhost|local|internal|test|home\.arpa)$/

/** Warns of a public host in development mode, which keeps secrets beside the data they protect and demands no protection. */
export function publicWarnings({ protocol, hostname }: URL): string[] {
  if (protocol !== 'https:' || LOCAL_HOST.test(hostname)) return []
  return [
    `NODE_ENV: is not production, and BASE_URL names a public host (${hostname}): secrets are then stored in DATA_DIR beside the database they seal, and the requirements of production are not checked; set NODE_ENV=production`,
  ]
}

/** The ports of docker-compose.yml and of a server of FTP or HTTP beside: two letters from SMTP_PORT, and not meant for it. */
const OTHER_PORTS = /^(?:HTTPS?|S?FTP)_PORT$/

/** Variables of Node.js and of other programs, which have neighbours of their own, such as FTP_PROXY. */
const FOREIGN = /^(?:HTTPS?|ALL)_PROXY$|^NODE_(?!ENV$)/

/**
 * Names variables that probably mean one of ours and so have no effect. Passed over are those whose proper name is set as well,
 * and addresses that Docker and Kubernetes set for a neighbouring service (`METRIC_PORT=tcp://10.0.0.7:80`).
 */
export function misspeltSettings(
  env: Readonly<Record<string, string | undefined>>,
  known: readonly string[],
): string[] {
  const free = known.filter((name) => env[name] === undefined && !FOREIGN.test(name))
  return Object.entries(env).flatMap(([name, value]) => {
    if (value === undefined || known.includes(name) || OTHER_PORTS.test(name)) return []
    if (/^(?:tcp|udp|sctp):\/\//.test(value)) return []
    const meant = meantField(name.replace(/^COUNTERSIGN_/, ''), free)
    return meant === undefined ? [] : [`${name}: is not a setting and has no effect; did you mean ${meant}?`]
  })
}
