/** Names of fields whose values never reach the log, at any depth. */
const SECRET_FIELDS =
  /^(authorization|cookie|set-cookie|raw_key|api_key|key_hash|token_hash|.*token|.*secret|.*password|code|codes|backup_codes|seed|sealed_seed|passkey|credential|signature|proof|enroll_url|setup_url)$/i

/**
 * Secrets that could hide inside text: API keys, internal, session and Slack tokens, Entra client secrets, bearer headers, link
 * fragments, MongoDB passwords. Callers choose part of what is logged, so every alternative is linear in the text (T63).
 */
const SECRET_TEXT =
  /sa_(?:live|test)_[A-Za-z0-9]+|internal-[^\s"',;]+|boot_[A-Za-z0-9_-]{20,}|x(?:ox[a-z]|app|wfp)[.-][A-Za-z0-9._-]+|[\w.~-]{3}\dQ~[\w.~-]{30,40}|(?<![A-Za-z0-9_-])(?=[A-Za-z0-9_-]*eyJ)[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+|[Bb]earer\s+[^\s"',;]+|(?<=#)[A-Za-z0-9_-]{20,}|(?<=:\/\/[^:/@\s]{1,100}:)[^@/\s]{1,200}(?=@)/g

/** Most UTF-16 units of a text that are logged, and that are searched first: a secret across the cut is found before the cut. */
const MAX_TEXT = 8_192
const MAX_SEARCHED = 65_536

function redactText(text: string): string {
  const safe = text.slice(0, MAX_SEARCHED).replace(SECRET_TEXT, '[redacted]')
  return text.length > MAX_SEARCHED || safe.length > MAX_TEXT ? `${safe.slice(0, MAX_TEXT)}[cut]` : safe
}

/** Copies a value with every secret replaced by `[redacted]`. Depth, breadth and length are bounded. */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return redactText(value)
  if (value instanceof Error) return redactError(value, depth)
  if (value === null || typeof value !== 'object' || value instanceof Date) return value
  if (depth > 6) return '[deep]'
  if (Array.isArray(value)) return value.slice(0, 100).map((item) => redact(item, depth + 1))
  const entries = Object.entries(value).slice(0, 100)
  return Object.fromEntries(
    entries.map(([key, item]) => [
      key,
      SECRET_FIELDS.test(key) && typeof item !== 'boolean' ? '[redacted]' : redact(item, depth + 1),
    ]),
  )
}

function redactError(error: Error, depth: number): unknown {
  const cause = error.cause === undefined || depth > 3 ? {} : { cause: redact(error.cause, depth + 1) }
  return { type: error.name, message: redact(error.message), stack: redact(error.stack ?? ''), ...cause }
}
