/** The more specific names come first: every browser also carries the name of an older one. */
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

/** Recognises an iPad that calls itself a Mac: no Mac has a multi-touch screen. */
export function isTablet(userAgent = navigator.userAgent): boolean {
  return /Macintosh/.test(userAgent) && 'maxTouchPoints' in navigator && Number(navigator.maxTouchPoints) > 1
}

/** Returns a name for this browser until its user chooses a better one: "Firefox on Linux". */
export function deviceName(userAgent = navigator.userAgent, tablet = isTablet(userAgent)): string {
  const find = (list: typeof BROWSERS) => list.find(([pattern]) => pattern.test(userAgent))?.[1]
  const browser = find(BROWSERS) ?? 'Browser'
  const system = tablet ? 'iPad' : find(SYSTEMS)
  return system === undefined ? browser : `${browser} on ${system}`
}

const LONGEST = 60

/** Returns a browser's common name, or an unknown user agent itself, shortened. A user agent proves nothing. */
export function browserName(userAgent: string): string {
  if (userAgent === '') return 'An unnamed program'
  if (BROWSERS.some(([pattern]) => pattern.test(userAgent))) return deviceName(userAgent, false)
  return userAgent.length > LONGEST ? `${userAgent.slice(0, LONGEST)}…` : userAgent
}
