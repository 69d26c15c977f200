/** Names that say more stand first: every browser also calls itself something older. */
const BROWSERS: readonly [pattern: RegExp, name: string][] = [
  [/Edg(?:e|A|iOS)?\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/SamsungBrowser\//, 'Samsung Internet'],
  [/Firefox\/|FxiOS\//, 'Firefox'],
  [/Chrome\/|CriOS\//, 'Chrome'],
  [/Safari\//, 'Safari'],
]

const SYSTEMS: readonly [pattern: RegExp, name: string][] = [
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS X|Macintosh/, 'Mac'],
  [/CrOS/, 'ChromeOS'],
  [/Linux/, 'Linux'],
]

/** An iPad calls itself a Mac, of which none takes several fingers. */
export function isTablet(userAgent = navigator.userAgent): boolean {
  return /Macintosh/.test(userAgent) && 'maxTouchPoints' in navigator && Number(navigator.maxTouchPoints) > 1
}

/** What to call a browser until its person says better: "Firefox on Linux". */
export function deviceName(userAgent = navigator.userAgent, tablet = isTablet(userAgent)): string {
  const find = (list: typeof BROWSERS) => list.find(([pattern]) => pattern.test(userAgent))?.[1]
  const browser = find(BROWSERS) ?? 'Browser'
  const system = tablet ? 'iPad' : find(SYSTEMS)
  return system === undefined ? browser : `${browser} on ${system}`
}

const LONGEST = 60

/** What people call a browser, from what it says of itself; anything unknown as it is, cut. It proves nothing. */
export function browserName(userAgent: string): string {
  if (userAgent === '') return 'A program that does not say its name'
  if (BROWSERS.some(([pattern]) => pattern.test(userAgent))) return deviceName(userAgent, false)
  return userAgent.length > LONGEST ? `${userAgent.slice(0, LONGEST)}…` : userAgent
}
