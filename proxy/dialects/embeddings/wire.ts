/** Lists of embeddings, as upstreams send them and the gateway writes them. Types only. */
import type { CreateEmbeddingResponse, Embedding } from 'openai/resources'
import type { FieldsOf, With } from '../core/json/wire.ts'

export type Answer = FieldsOf<CreateEmbeddingResponse>
export type Entry = FieldsOf<Embedding>
export type Usage = FieldsOf<CreateEmbeddingResponse.Usage>

/** What the gateway changes in an entry. A vector may also be base64, and some of its numbers raw JSON. */
export type Rewritten = With<Pick<Embedding, 'index'>, { embedding: string | readonly unknown[] }>
