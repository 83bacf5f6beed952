/** What several dialects of the OpenAI family write. Types only. */
import type { ChatCompletionContentPartText, ErrorObject } from 'openai/resources'

export type ErrorBody = { error: Pick<ErrorObject, 'code' | 'message' | 'param' | 'type'> }

/** The cache mark of a content part. */
export type Breakpoint = NonNullable<ChatCompletionContentPartText['prompt_cache_breakpoint']>
