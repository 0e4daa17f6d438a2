import type { ContentBlock, Outcome, ToolError } from '@toolfabric/contract';
import type { Redactor } from './redactor.ts';

const redactBlock = (redactor: Redactor, block: ContentBlock): ContentBlock => {
  switch (block.type) {
    case 'text':
      return { ...block, text: redactor.text(block.text) };
    case 'citation':
      return { ...block, url: redactor.text(block.url), text: redactor.text(block.text) };
    case 'file':
      return { ...block, name: redactor.text(block.name) };
    case 'resource':
      return { ...block, uri: redactor.text(block.uri), text: redactor.text(block.text) };
    case 'resource_link':
      return {
        ...block,
        uri: redactor.text(block.uri),
        ...(block.name === undefined ? {} : { name: redactor.text(block.name) }),
      };
    // Pictures and sounds are bytes: a mark in them would only break them.
    case 'image':
    case 'audio':
      return block;
  }
};

const redactError = (redactor: Redactor, error: ToolError): ToolError => ({
  ...error,
  message: redactor.text(error.message).slice(0, 4096),
  ...(error.hint === undefined ? {} : { hint: redactor.text(error.hint).slice(0, 1024) }),
  ...(error.fields === undefined ? {} : { fields: redactor.json(error.fields) }),
});

/**
 * RS-5: everything in an outcome that a tool wrote, whichever adapter it belongs to. What the fabric itself writes
 * (status, side effect, ids of artifacts, numbers) stays. Doing it twice changes nothing.
 */
export const redactOutcome = (redactor: Redactor, outcome: Outcome): Outcome => {
  const { data, content, error, evidence, origin } = outcome;
  return {
    ...outcome,
    summary: redactor.text(outcome.summary).slice(0, 4096),
    ...(data === undefined ? {} : { data: redactor.json(data) }),
    ...(content === undefined ? {} : { content: content.map((block) => redactBlock(redactor, block)) }),
    ...(error === undefined ? {} : { error: redactError(redactor, error) }),
    ...(evidence === undefined ? {} : { evidence: redactor.json(evidence) }),
    ...(origin === undefined ? {} : { origin: redactor.text(origin) }),
  };
};
