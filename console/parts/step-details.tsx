import type { ReactNode } from 'react'

import { StepExchange, type StepExchangeData, type StepRow } from '../data/documents.ts'
import { duration } from '../data/format.ts'
import { requestParts } from '../data/request-parts.ts'
import { useQuery } from '../data/use-query.ts'
import { Attachments } from './content.tsx'
import { Cost } from './cost.tsx'
import { DecisionTaken } from './decision-taken.tsx'
import { Fact } from './fact.tsx'
import { Folded } from './folded.tsx'
import { JsonView } from './json-view.tsx'
import { PlainText } from './plain-text.tsx'
import { Problem } from './problem.tsx'
import { RequestBar } from './request-bar.tsx'
import { Skeleton } from './skeleton.tsx'
import { Status } from './status.tsx'
import { TokenCount } from './token-count.tsx'

/** Everything that is known about one step. */
export function StepDetails({ step }: { readonly step: StepRow }): ReactNode {
  const { data, error } = useQuery(StepExchange, { id: step.id })
  const { request, response } = exchangeOf(data?.node)
  const { usage, metrics } = step
  const ms = (value: number | null): string => (value === null ? '–' : duration(value))
  return (
    <div className="step-details">
      {step.error && (
        <Problem>
          <strong>{step.error.message}</strong>
          {step.error.detail && <p className="mono">{step.error.detail}</p>}
        </Problem>
      )}
      {step.failedModels.map((failed) => (
        <p key={failed.model} className="quiet">
          <span className="mono">{failed.model}</span> was tried first: {failed.error.message}
        </p>
      ))}
      <dl className="facts">
        <Fact name="First token" value={ms(metrics.timeToFirstTokenMs)} />
        <Fact name="Model" value={ms(metrics.modelMs)} />
        <Fact name="Tools" value={ms(metrics.toolsMs)} />
        <Fact
          name="Input"
          value={<TokenCount whole={usage.inputTokens} part={usage.cachedInputTokens} name="cached" />}
        />
        <Fact
          name="Output"
          value={<TokenCount whole={usage.outputTokens} part={usage.reasoningTokens} name="reasoning" />}
        />
        <Fact name="Cost" value={<Cost usd={usage.costUsd} />} />
      </dl>
      {step.messages.map((message, index) =>
        'text' in message && message.text !== '' ? (
          <div key={index}>
            <h4>{message.__typename === 'ReasoningMessage' ? 'Reasoning' : 'Answer'}</h4>
            <PlainText text={message.text} label={message.__typename === 'ReasoningMessage' ? 'Reasoning' : 'Answer'} />
          </div>
        ) : null,
      )}
      {step.toolCalls.map((call) => (
        <div key={call.id}>
          <h4>
            <span className="mono">{call.name}</span> <Status value={call.status} />
          </h4>
          <div className="call-sides">
            <figure>
              <figcaption>{call.editedArguments === null ? 'Arguments' : 'Arguments, changed by a person'}</figcaption>
              <PlainText
                text={call.editedArguments === null ? call.argumentsText : JSON.stringify(call.editedArguments)}
                label={`Arguments of ${call.name}`}
              />
              {call.editedArguments !== null && (
                <>
                  <figcaption>As the model wrote them</figcaption>
                  <PlainText text={call.argumentsText} label={`Arguments of ${call.name} as the model wrote them`} />
                </>
              )}
            </figure>
            {call.result && (
              <figure>
                <figcaption>{call.result.status === 'ERROR' ? 'Error' : 'Result'}</figcaption>
                <PlainText text={call.result.output || '(no text)'} label={`Result of ${call.name}`} />
                <Attachments parts={call.result.content} />
              </figure>
            )}
          </div>
          {call.decision && <DecisionTaken decision={call.decision} />}
        </div>
      ))}
      {error && !data && <Problem>{error.message}</Problem>}
      {!data && !error && <Skeleton lines={2} />}
      {data && request == null && response == null && (
        <p className="quiet">
          The request and the response were not kept. Turn on “Keep requests and responses” in the agent’s settings to
          see them for later runs.
        </p>
      )}
      {request != null && (
        <>
          <RequestBar parts={requestParts(request)} />
          <Folded summary="Request as it was sent">
            <JsonView value={request} />
          </Folded>
        </>
      )}
      {response != null && (
        <Folded summary="Response as it was received">
          <JsonView value={response} />
        </Folded>
      )}
    </div>
  )
}

function exchangeOf(node: StepExchangeData['node'] | undefined): {
  readonly request?: unknown
  readonly response?: unknown
} {
  return node && 'request' in node ? node : {}
}
