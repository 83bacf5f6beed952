/** The APIs that the gateway knows, and the types of channels, by name. */

/** The APIs for conversations, which the hub converts into each other. */
export const DIALECT_NAMES = ['chat', 'responses', 'messages'] as const
export type DialectName = (typeof DIALECT_NAMES)[number]
/** Also the APIs that accept only a prompt, into which the hub converts conversations. */
export const API_NAMES = [...DIALECT_NAMES, 'images'] as const
export type ApiName = (typeof API_NAMES)[number]

/** The API that an upstream speaks. */
export const CHANNEL_TYPES = ['chat_completion', 'responses', 'messages', 'embeddings', 'images'] as const
export type ChannelType = (typeof CHANNEL_TYPES)[number]
