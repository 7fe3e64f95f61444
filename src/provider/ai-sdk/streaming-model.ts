import type { LanguageModelV4 } from '@ai-sdk/provider';

/** The part of a model's interface that the gateway uses. */
export type StreamingModel = Pick<LanguageModelV4, 'provider' | 'modelId' | 'supportedUrls' | 'doStream'>;
