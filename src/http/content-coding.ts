/** How a built asset can be sent; `ending` is what its file has after the asset's own name. */
export interface ContentCoding {
  name: 'br' | 'gzip' | 'identity'
  ending: string
}

const IDENTITY: ContentCoding = { name: 'identity', ending: '' }
/** Smallest first: where the client does not mind, the first wins. */
const CODINGS: readonly ContentCoding[] = [
  { name: 'br', ending: '.br' },
  { name: 'gzip', ending: '.gz' },
  IDENTITY,
]

/**
 * The coding the client weighs highest in its `Accept-Encoding` (RFC 9110, section 12.5.3). Without the header, or when
 * it allows none of ours, the plain file: every client can read that.
 */
export function preferredCoding(acceptEncoding = ''): ContentCoding {
  const weights = new Map(acceptEncoding.split(',').map(weighted))
  const weight = ({ name }: ContentCoding): number => weights.get(name) ?? weights.get('*') ?? 0
  const [best = IDENTITY] = CODINGS.toSorted((one, other) => weight(other) - weight(one))
  return weight(best) > 0 ? best : IDENTITY
}

/** `gzip;q=0.5` as name and weight; a weight that is none counts as 0. */
function weighted(item: string): [name: string, weight: number] {
  const [name = '', parameter] = item.split(';', 2)
  const quality = parameter === undefined ? 1 : Number(/^\s*q=([01](?:\.\d{0,3})?)\s*$/i.exec(parameter)?.[1])
  return [name.trim().toLowerCase(), quality >= 0 && quality <= 1 ? quality : 0]
}
