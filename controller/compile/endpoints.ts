/** Which endpoints reach which type of channel: the one place to extend when an endpoint is added. */
import type { ChannelType } from '../../contract/api/index.ts'

const ENDPOINTS: Record<ChannelType, readonly string[]> = {
  chat_completion: ['chat'],
  responses: [],
  messages: [],
  embeddings: [],
  images: [],
}

/** Endpoints that a channel of this type can serve, for its status. */
export function endpointsOf(type: ChannelType): readonly string[] {
  return ENDPOINTS[type]
}
