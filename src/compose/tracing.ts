import {
  type Attributes,
  type Context,
  context,
  type Span as OpenSpan,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { Refusal } from '../domain/errors.ts'
import { given } from '../domain/given.ts'
import type { Span, SpanFacts, Tracing } from '../ports/tracing.ts'

/**
 * Makes spans by the SDK that the operator loaded into this process before the service (docs/operate.md). The API in this bundle
 * and the SDK's own find each other by a global symbol. This module is loaded only then.
 */
export function createTracing(version: string): Tracing {
  const tracer = trace.getTracer('countersign', version)
  return {
    span(span, work, tell) {
      const active = trace.getSpan(context.active())?.spanContext()
      const parent = parentOf(span)
      const links = active === undefined || span.traceparent === undefined ? [] : [{ context: active }]
      const kind = KINDS[span.name]
      const open = tracer.startSpan(
        span.name,
        { kind, links, attributes: prefixed(span.attributes ?? {}) },
        parent,
      )
      return context.with(trace.setSpan(parent, open), () => endWith(open, work, tell))
    },
    request(traceparent, handle) {
      const parent = trace.getSpan(context.active()) === undefined ? contextOf(traceparent) : context.active()
      const open = tracer.startSpan('HTTP', { kind: SpanKind.SERVER }, parent)
      context.with(trace.setSpan(parent, open), handle)
      return ({ method, route, status, error, request_id }) => {
        open.updateName(`${method} ${route}`)
        open.setAttributes({
          'http.request.method': method,
          'http.route': route,
          'http.response.status_code': status,
          ...prefixed({ request_id }),
          ...given({ 'error.type': error }),
        })
        if (status >= 500) open.setStatus({ code: SpanStatusCode.ERROR })
        open.end()
      }
    },
  }
}

const KINDS = { decide: SpanKind.INTERNAL, consume: SpanKind.INTERNAL, deliver: SpanKind.CLIENT }

function parentOf({ traceparent, detached = false }: Span): Context {
  if (traceparent !== undefined) return contextOf(traceparent)
  return detached ? ROOT_CONTEXT : context.active()
}

/** Makes the caller's span, already checked by `readTraceparent`, a parent; it also says whether the caller records its trace. */
function contextOf(traceparent: string | undefined): Context {
  const [, traceId = '', spanId = '', flags = ''] = traceparent?.split('-') ?? []
  if (flags === '') return ROOT_CONTEXT
  const remote = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
  return trace.setSpanContext(ROOT_CONTEXT, remote)
}

/** Ends the span with the work. An error's message stays out: it may quote what callers and people wrote. */
async function endWith<Result>(
  open: OpenSpan,
  work: () => Promise<Result>,
  tell?: (result: Result) => SpanFacts,
): Promise<Result> {
  try {
    const result = await work()
    open.setAttributes(prefixed(tell?.(result) ?? {}))
    return result
  } catch (error) {
    open.setAttribute('error.type', error instanceof Refusal ? error.code : nameOf(error))
    if (!(error instanceof Refusal)) open.setStatus({ code: SpanStatusCode.ERROR })
    throw error
  } finally {
    open.end()
  }
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown'
}

function prefixed(attributes: SpanFacts): Attributes {
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`countersign.${name}`, value]))
}
