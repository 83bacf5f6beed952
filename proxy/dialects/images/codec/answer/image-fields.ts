/** Converts images between the images API and the neutral form. */
import type { UpstreamFailure } from '../../../../errors.ts'
import { GatewayError } from '../../../../errors.ts'
import { type Fields, isText } from '../../../core/json/value.ts'
import { imageType, parseDataUrl } from '../../../core/neutral/media.ts'
import type { ImagePart, Making, Media } from '../../../core/neutral/types.ts'
import { readMaking } from '../../../openai/fields.ts'
import type * as wire from '../../wire.ts'

/** `shared`: the answer or event that says how its images were made. Undefined for an entry without an image. */
export function readImage(entry: Fields, shared: Fields): ImagePart | undefined {
  const made = readMaking(entry, shared)
  const source = readSource(entry, made)
  return source === undefined ? undefined : { type: 'image', source, made }
}

function readSource({ b64_json: base64, url }: Fields, { format }: Making): Media | undefined {
  if (isText(base64)) {
    // Some upstreams write a whole data URL here.
    const media = base64.startsWith('data:') ? parseDataUrl(base64) : undefined
    return media ?? { kind: 'data', mediaType: imageType(base64, format), base64 }
  }
  if (!isText(url)) return undefined
  return parseDataUrl(url) ?? { kind: 'url', url }
}

/** With `b64_json` or `url`; with neither for a file that only its vendor has. */
export function writeSource(source: Media, revised_prompt?: string): wire.AnswerImage {
  switch (source.kind) {
    case 'data':
      return { b64_json: source.base64, revised_prompt }
    case 'text':
      return { b64_json: Buffer.from(source.text).toString('base64'), revised_prompt }
    case 'url':
      return { url: source.url, revised_prompt }
    case 'id':
      return { revised_prompt }
  }
}

/** The failure for an answer without an image. `refused`: the model refused to make one. */
export function noImage(refused: boolean): UpstreamFailure {
  if (!refused) return { class: 'unknown', status: 200, channelNotAtFault: true, detail: 'no_picture' }
  const forCaller = new GatewayError('content_filter', 'The model refused to make this image.')
  return { class: 'caller_fault', status: 200, forCaller, detail: 'picture_refused' }
}
