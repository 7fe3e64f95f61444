import type { LanguageModelV4 } from '@ai-sdk/provider';

/** What the gateway uses of a model. */
export type StreamingModel = Pick<LanguageModelV4, 'provider' | 'modelId' | 'supportedUrls' | 'doStream'>;
