import { type Config, ConfigError } from '../config/config.ts'
import { buildInfo } from '../config/package-path.ts'
import type { FlowDeps } from '../flow/deps.ts'
import { createOfferSender } from '../outbound/guarded-post.ts'
import { COSIGNATURE, NoteError, parseVkey } from '../signing/log/note.ts'

type Witness = FlowDeps['witnesses'][number]

/** How long a witness may take to answer. */
const OFFER_MS = 5_000

/** Reads LOG_WITNESSES, and makes the sender that reaches them. @throws ConfigError */
export async function composeWitnesses(
  config: Pick<Config, 'baseUrl' | 'production' | 'callbackAllowPrivate' | 'transparency'>,
): Promise<Pick<FlowDeps, 'witnesses' | 'offers'>> {
  const { baseUrl, production, callbackAllowPrivate: allowPrivate, transparency } = config
  const written = transparency.witnesses.split(',').filter((one) => one.trim() !== '')
  const witnesses = await Promise.all(written.map(readWitness))
  const { version } = buildInfo()
  // The operator chose the witnesses, and with them the ports.
  const ports = witnesses.map(({ url }) => portOf(new URL(url)))
  const offers = createOfferSender({ baseUrl, production, allowPrivate, ports, timeoutMs: OFFER_MS, version })
  return { witnesses, offers }
}

function portOf({ port, protocol }: URL): number {
  return Number(port || (protocol === 'https:' ? 443 : 80))
}

async function readWitness(text: string): Promise<Witness> {
  const [, vkey = '', url = ''] = /^\s*(\S+)\s+(https?:\/\/\S+?)\/?\s*$/.exec(text) ?? []
  if (!URL.canParse(url)) throw refused(text, 'has no URL: write <vkey> <url>, and a comma before the next')
  try {
    const key = await parseVkey(vkey)
    if (key.type === COSIGNATURE) return { key, vkey, url }
    throw refused(vkey, 'is the key of a log; ask the operator of the witness for the key that it printed')
  } catch (error) {
    if (error instanceof NoteError) throw refused(vkey, `is no verifier key: ${error.message}`)
    throw error
  }
}

function refused(text: string, problem: string): ConfigError {
  return new ConfigError([`LOG_WITNESSES: ${JSON.stringify(text.trim())} ${problem}`])
}
