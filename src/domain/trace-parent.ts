/**
 * Reads the header `traceparent` (W3C Trace Context 1.0, section 3.2). An unusable one counts as absent, as the standard demands:
 * a trace is for whoever looks at it, and nothing may depend on it.
 */
export function readTraceparent(header: string | undefined): string | undefined {
  const [, version, trace = '', parent = ''] = TRACEPARENT.exec(header ?? '') ?? []
  return version === 'ff' || /^0*$/.test(trace) || /^0*$/.test(parent) ? undefined : header
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/
