/** As much as fits at once, and what comes back in a second. */
interface Bucket {
  most: number
  perSecond: number
}

/** One message a second in a conversation, short bursts allowed. */
const POSTS_PER_CONVERSATION: Bucket = { most: 3, perSecond: 1 }
/** "Several hundred" a minute in a workspace. */
const POSTS_PER_WORKSPACE: Bucket = { most: 300, perSecond: 5 }
/** Tier 3: 50 a minute. */
const TIER_3: Bucket = { most: 50, perSecond: 50 / 60 }

/** What Slack allows (docs.slack.dev, "Rate limits"), per token. */
export interface SlackLimits {
  /** Takes one call. @returns whole seconds to wait when it is one too many */
  take(token: string, method: string, channel: string): number | undefined
}

/** @param speed how much faster than Slack's clock this one goes, so that a test need not take an hour */
export function createSlackLimits(speed: number, now: () => number = Date.now): SlackLimits {
  const levels = new Map<string, { left: number; at: number }>()
  const wait = (key: string, { most, perSecond }: Bucket): number => {
    const at = now()
    const level = levels.get(key) ?? { left: most, at }
    const left = Math.min(most, level.left + ((at - level.at) / 1000) * perSecond * speed)
    levels.set(key, { left, at })
    return left >= 1 ? 0 : (1 - left) / perSecond / speed
  }
  const spend = (key: string): void => {
    const level = levels.get(key)
    if (level !== undefined) level.left -= 1
  }
  return {
    take(token, method, channel) {
      const buckets: [string, Bucket][] =
        method === 'chat.postMessage'
          ? [
              [`${token} post ${channel}`, POSTS_PER_CONVERSATION],
              [`${token} post`, POSTS_PER_WORKSPACE],
            ]
          : [[`${token} ${method}`, TIER_3]]
      const seconds = Math.max(...buckets.map(([key, bucket]) => wait(key, bucket)))
      if (seconds > 0) return Math.ceil(seconds)
      for (const [key] of buckets) spend(key)
      return undefined
    },
  }
}
