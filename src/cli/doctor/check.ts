/** One line of the doctor's report. */
export interface Check {
  name: string
  status: 'ok' | 'warn' | 'fail'
  /** What was found. */
  detail: string
  /** What to do about it; only where something is to be done. */
  fix?: string
}

export function ok(name: string, detail: string): Check {
  return { name, status: 'ok', detail }
}

export function warn(name: string, detail: string, fix: string): Check {
  return { name, status: 'warn', detail, fix }
}

export function fail(name: string, detail: string, fix: string): Check {
  return { name, status: 'fail', detail, fix }
}
