import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { imageType } from '../../src/domain/image.ts'

/** Made by Pillow 12. */
const IMAGES: [string, string][] = [
  [
    'PNG',
    'iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAEElEQVR4nGNkZIACJhiDAQAATwAFqFmkxAAAAABJRU5ErkJggg==',
  ],
  [
    'JPEG',
    '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAKBueIx4ZKCMgoy0qqC+8P//8Nzc8P//////////////////////////////////////////////////////////2wBDAaq0tPDS8P//////////////////////////////////////////////////////////////////////////////wAARCAAJABEDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAP/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFAEBAAAAAAAAAAAAAAAAAAAAAP/EABQRAQAAAAAAAAAAAAAAAAAAAAD/2gAMAwEAAhEDEQA/AIgAAA//2Q==',
  ],
  [
    'JPEG, progressive, with a comment',
    '/9j/4AAQSkZJRgABAQAAAQABAAD//gALeHh4eHh4eHh4/9sAQwCgbniMeGSgjIKMtKqgvvD///Dc3PD//////////////////////////////////////////////////////////9sAQwGqtLTw0vD//////////////////////////////////////////////////////////////////////////////8IAEQgACQARAwEiAAIRAQMRAf/EABUAAQEAAAAAAAAAAAAAAAAAAAAC/8QAFAEBAAAAAAAAAAAAAAAAAAAAAP/aAAwDAQACEAMQAAABgAH/xAAUEAEAAAAAAAAAAAAAAAAAAAAg/9oACAEBAAEFAl//xAAUEQEAAAAAAAAAAAAAAAAAAAAQ/9oACAEDAQE/AT//xAAUEQEAAAAAAAAAAAAAAAAAAAAQ/9oACAECAQE/AT//xAAUEAEAAAAAAAAAAAAAAAAAAAAg/9oACAEBAAY/Al//xAAUEAEAAAAAAAAAAAAAAAAAAAAg/9oACAEBAAE/IV//2gAMAwEAAgADAAAAEAAP/8QAFBEBAAAAAAAAAAAAAAAAAAAAEP/aAAgBAwEBPxA//8QAFBEBAAAAAAAAAAAAAAAAAAAAEP/aAAgBAgEBPxA//8QAFBABAAAAAAAAAAAAAAAAAAAAIP/aAAgBAQABPxBf/9k=',
  ],
  ['GIF', 'R0lGODdhBQAEAIAAAAAAAAAAACwAAAAABQAEAAAICQABCBxIsGDBgAA7'],
  ['WebP, lossy', 'UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoHAAYADMDOJaQAA3AA/uxnAAA='],
  ['WebP, lossless', 'UklGRiAAAABXRUJQVlA4TBMAAAAvBkABAAcQGf0PAAThf9tERP9DAA=='],
  [
    'WebP, with features',
    'UklGRrYAAABXRUJQVlA4WAoAAAASAAAABgAABQAAQU5JTQYAAAAAAAAAAABBTk1GOgAAAAAAAAAAAAAAAAAAAAoAAAJBTFBIAgAAAAAAVlA4IBgAAAAwAQCdASoBAAEAAUAmJaQAA3AA/v0gUABBTk1GSAAAAAAAAAAAAAYAAAUAAAoAAAJBTFBICgAAAAEHUOSICERE/wNWUDggHgAAAFABAJ0BKgcABgABQCYlnAAEYYAA/v0Jx6bySGAAAA==',
  ],
]
const read = (name: string) =>
  Buffer.from(IMAGES.find(([one]) => one === name)?.[1] ?? expect.unreachable(), 'base64')

const PROGRESSIVE = 'JPEG, progressive, with a comment'

/** The picture with other bytes at a place. */
const patched = (name: string, at: number, bytes: number[]) => {
  const image = read(name)
  image.set(bytes, at)
  return image
}
/** Of a JPEG, where its frame header has height and width. */
const frameOf = (name: string) => read(name).indexOf(Buffer.from([0, 9, 0, 17]))

describe('imageType', () => {
  it.each(IMAGES)('knows %s', (name, base64) => {
    expect(imageType(Buffer.from(base64, 'base64'))).toBe(`image/${/^\w+/.exec(name)?.[0].toLowerCase()}`)
  })

  it('takes pictures up to 20 million pixels and 16,384 on a side', () => {
    const png = (width: number, height: number) => {
      const image = read('PNG')
      image.writeUInt32BE(width, 16)
      image.writeUInt32BE(height, 20)
      return imageType(image)
    }
    for (const [width, height] of [
      [5000, 4000],
      [16_384, 1220],
      [1, 16_384],
    ] as const)
      expect([width, png(width, height)]).toEqual([width, 'image/png'])
    for (const [width, height] of [
      [5001, 4000],
      [16_385, 1],
      [60_000, 60_000],
      [0xffffffff, 0xffffffff],
      [0, 9],
      [9, 0],
    ] as const)
      expect([width, png(width, height)]).toEqual([width, undefined])
  })

  it.each<[string, Buffer]>([
    ['JPEG', patched('JPEG', frameOf('JPEG'), [0xff, 0xff, 0xff, 0xff])],
    ['progressive JPEG', patched(PROGRESSIVE, frameOf(PROGRESSIVE), [0x7f, 0xff, 0x7f, 0xff])],
    ['JPEG whose height comes later', patched('JPEG', frameOf('JPEG'), [0, 0])],
    ['JPEG without a frame', read('JPEG').subarray(0, frameOf('JPEG') - 5)],
    ['GIF by its screen', patched('GIF', 6, [0xff, 0xff, 0xff, 0xff])],
    ['GIF by its first frame', patched('GIF', 24, [0xff, 0xff, 0xff, 0xff])],
    ['GIF by where its first frame stands', patched('GIF', 20, [0xff, 0xff])],
    ['lossy WebP', patched('WebP, lossy', 26, [0xff, 0x3f, 0xff, 0x3f])],
    ['lossless WebP', patched('WebP, lossless', 21, [0xff, 0xff, 0xff, 0x0f])],
    ['WebP with features, by its width', patched('WebP, with features', 24, [0xff, 0xff, 0xff])],
    ['WebP with features, by its height', patched('WebP, with features', 27, [0xff, 0xff, 0xff])],
    ['PNG that does not begin with its header', patched('PNG', 12, [...Buffer.from('CgBI')])],
    ['SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')],
    ['nothing', Buffer.of()],
  ])('shows no %s that is too large, or does not say how large it is', (_, image) => {
    expect(imageType(image)).toBe(undefined)
  })

  it('ends on any bytes', () => {
    const starts = IMAGES.map(([name]) => read(name).subarray(0, 40))
    const bytes = fc.tuple(fc.constantFrom(...starts), fc.nat(40), fc.uint8Array({ maxLength: 400 }))
    fc.assert(
      fc.property(bytes, ([start, length, rest]) => {
        const type = imageType(Buffer.concat([start.subarray(0, length), rest]))
        expect(type === undefined || type.startsWith('image/')).toBe(true)
      }),
    )
  })
})
