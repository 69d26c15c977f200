/** The channels by which people hear of requests. What changes about their own factors they hear by each of them, always (T34). */
const CHANNELS = ['chat', 'browser', 'mail'] as const

/** Which requests a channel tells. `digest`, by mail: high impact at once, the others once an hour in one mail. */
export type Volume = 'all' | 'high_impact' | 'digest' | 'none'

/** What each channel tells; `chat` and `browser` know no digest. */
export interface Volumes {
  chat: Exclude<Volume, 'digest'>
  browser: Exclude<Volume, 'digest'>
  mail: Volume
}

/** Hours of the day in which browsers and mails keep still: from one local time to another, perhaps past midnight. */
export interface QuietHours {
  /** `HH:MM` */
  from: string
  to: string
  /** IANA name, such as `Europe/Berlin`. */
  time_zone: string
}

/** A person's own choice; without `volumes`, that of the account that asks. */
export interface Hearing {
  volumes?: Volumes
  quiet_hours?: QuietHours
}

export const ALL: Volumes = { chat: 'all', browser: 'all', mail: 'all' }

/** Volumes in one line, for the trail: `chat all, browser all, mail digest`. */
export function volumeWords(volumes: Volumes): string {
  return CHANNELS.map((channel) => `${channel} ${volumes[channel]}`).join(', ')
}

/** What this person hears of requests of this account. */
export function volumesOf(
  person: { hearing?: Hearing } | undefined,
  account: { volumes?: Volumes } | undefined,
): Volumes {
  return person?.hearing?.volumes ?? account?.volumes ?? ALL
}

/** Tells whether a channel of that volume tells of the request at once, later in a digest, or not at all. */
export function tells(volume: Volume, { high_impact }: { high_impact: boolean }): 'now' | 'digest' | 'never' {
  if (volume === 'all') return 'now'
  if (volume === 'none') return 'never'
  if (high_impact) return 'now'
  return volume === 'digest' ? 'digest' : 'never'
}

const MINUTE_MS = 60_000
const DAY_MINUTES = 1440

/**
 * Returns when the quiet hours end in which `at` lies; undefined outside of them. Where clocks change in these hours, the end
 * may be off by that change; it is never missed.
 */
export function quietEnd(hours: QuietHours | undefined, at: Date): Date | undefined {
  if (hours === undefined) return undefined
  const [from, to, now] = [minuteOf(hours.from), minuteOf(hours.to), minuteOf(localTime(at, hours.time_zone))]
  const isQuiet = from <= to ? from <= now && now < to : from <= now || now < to
  if (!isQuiet) return undefined
  const left = (to - now + DAY_MINUTES) % DAY_MINUTES
  return new Date(Math.floor(at.getTime() / MINUTE_MS) * MINUTE_MS + left * MINUTE_MS)
}

function minuteOf(time: string): number {
  const [hour = 0, minute = 0] = time.split(':').map(Number)
  return hour * 60 + minute
}

function localTime(at: Date, timeZone: string): string {
  return new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit' }).format(at)
}

/** Checks for a time zone that this machine knows. */
export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) instanceof Intl.DateTimeFormat
  } catch {
    return false
  }
}

const HOUR_MS = 3_600_000

/** Returns when the digest is sent that tells what comes at `at`: at the next full hour. */
export function digestAfter(at: Date): Date {
  return new Date((Math.floor(at.getTime() / HOUR_MS) + 1) * HOUR_MS)
}
