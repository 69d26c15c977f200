/** What a push says. */
interface Payload {
  title: string
  body: string
  url: string
  tag: string
}

/** Shown for what cannot be read: an older worker may meet a newer service. */
const UNREADABLE: Payload = {
  title: 'Something waits for you',
  body: 'Open Countersign.',
  url: '/',
  tag: 'unreadable',
}

/** Text of a push → what to show. */
export function readPayload(text: string | undefined): Payload {
  try {
    const value: unknown = JSON.parse(text ?? '')
    if (typeof value !== 'object' || value === null) return UNREADABLE
    const { title, body, url, tag } = { ...UNREADABLE, ...value }
    // Without a tag a notification cannot make itself heard again, and browsers refuse it.
    return [title, body, url, tag].every((field) => typeof field === 'string' && field !== '')
      ? { title, body, url, tag }
      : UNREADABLE
  } catch {
    return UNREADABLE
  }
}

/** The page that a notification leads to: one of ours, whatever it says, and never one that brings a decision along. */
export function targetOf(data: unknown, origin: string): string {
  const path = typeof data === 'object' && data !== null && 'url' in data ? data.url : undefined
  if (typeof path !== 'string' || !URL.canParse(path, origin)) return `${origin}/`
  const url = new URL(path, origin)
  return url.origin === origin ? `${origin}${url.pathname}` : `${origin}/`
}
