/** Models of the interface version 3 (AI SDK 6) as those of version 4: the two differ in how they hold files. */
import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3Message,
  LanguageModelV3StreamPart,
  LanguageModelV3ToolResultOutput,
  LanguageModelV4CallOptions,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolResultOutput,
} from '@ai-sdk/provider';
import type { StreamingModel } from './streaming-model.ts';

export function streamingV3(model: LanguageModelV3): StreamingModel {
  return {
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    async doStream(options) {
      const { stream } = await model.doStream(optionsV3(options));
      return { stream: stream.pipeThrough(new TransformStream({ transform: (part, to) => to.enqueue(partV4(part)) })) };
    },
  };
}

function optionsV3({ reasoning: _, prompt, ...options }: LanguageModelV4CallOptions): LanguageModelV3CallOptions {
  return { ...options, prompt: prompt.map(messageV3) } as LanguageModelV3CallOptions;
}

function messageV3(message: LanguageModelV4Message): LanguageModelV3Message {
  if (message.role === 'system' || message.role === 'assistant') return message as LanguageModelV3Message;
  const content = (message.content as readonly { type: string }[]).map((part) => {
    if (part.type === 'file') return fileV3(part as LanguageModelV4FilePart);
    return 'output' in part ? { ...part, output: outputV3(part.output as LanguageModelV4ToolResultOutput) } : part;
  });
  return { ...message, content } as LanguageModelV3Message;
}

function fileV3({ data, ...part }: LanguageModelV4FilePart): object {
  return { ...part, data: inlineV3(data) };
}

function inlineV3(data: LanguageModelV4FilePart['data']): unknown {
  if (data.type === 'url') return data.url;
  if (data.type === 'text') return Buffer.from(data.text).toString('base64');
  return data.type === 'data' ? data.data : data.reference;
}

function outputV3(output: LanguageModelV4ToolResultOutput): LanguageModelV3ToolResultOutput {
  if (output.type !== 'content') return output;
  const value = output.value.map((part) => {
    if (part.type !== 'file') return part;
    const type = part.mediaType.startsWith('image/') ? 'image-data' : 'file-data';
    return { ...part, type, data: inlineV3(part.data) };
  });
  return { ...output, value } as LanguageModelV3ToolResultOutput;
}

function partV4(part: LanguageModelV3StreamPart): LanguageModelV4StreamPart {
  if (part.type !== 'file') return part as LanguageModelV4StreamPart;
  return { ...part, data: { type: 'data', data: part.data } };
}
