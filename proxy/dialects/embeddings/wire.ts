/** Lists of embeddings, as upstreams send them and the gateway writes them. Types only. */
import type { CreateEmbeddingResponse, Embedding } from 'openai/resources'
import type { FieldsOf, With } from '../core/json/wire.ts'

export type Answer = FieldsOf<CreateEmbeddingResponse>
export type Entry = FieldsOf<Embedding>
export type Usage = FieldsOf<CreateEmbeddingResponse.Usage>

/** What the gateway changes in an entry. The SDK hides that a vector may be base64; some numbers are raw JSON. */
export type Rewritten = With<Pick<Embedding, 'index'>, { embedding: string | readonly unknown[] }>
