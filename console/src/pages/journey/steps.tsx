// The steps of a record: each node with its input, what it did in stores, and what it sent.
import { inline, stamp } from "../../lib/format";
import type { Access, Sending, Step } from "../../lib/journey";
import { link } from "../../lib/router";
import { Badge, Problem, Value } from "../../ui/parts";

export function Steps(journey: {
  steps: Step[];
  dropped: { node: string; reason: string }[];
  is_cut: boolean;
  error?: string | null;
}) {
  const depths: number[] = [];
  for (const step of journey.steps)
    depths[step.id] = step.parent === null ? 0 : depths[step.parent]! + 1;
  return (
    <>
      {journey.dropped.map((drop) => (
        <p key={drop.node}>
          <Badge tone="bad">dropped</Badge> at {drop.node}: {drop.reason}
        </p>
      ))}
      <ol class="steps">
        {journey.steps.map((step) => (
          <OneStep
            key={step.id}
            step={step}
            parent={step.parent === null ? null : journey.steps[step.parent]!}
            depth={depths[step.id]!}
          />
        ))}
      </ol>
      {journey.is_cut && <p class="note">There are more steps than these.</p>}
      {journey.error && <Problem error={new Error(journey.error)} />}
    </>
  );
}

function OneStep({ step, parent, depth }: { step: Step; parent: Step | null; depth: number }) {
  const same = parent !== null && inline(parent.key) === inline(step.key) && inline(parent.value) === inline(step.value);
  const ends = step.forwarded === 0 && step.sent.length === 0 && step.accesses.length === 0;
  const tone = step.error ? "failed-here" : step.dropped.length > 0 ? "dropped" : "";
  return (
    <li class={`step ${tone}`} style={{ "--depth": String(depth) }}>
      <p class="name">
        <a href={link("topology", [step.node])}>{step.node}</a>
        {step.site && <code class="note">{step.site}</code>}
        {step.dropped.map((reason) => (
          <Badge key={reason} tone="bad">
            dropped: {reason}
          </Badge>
        ))}
        {step.error && <Badge tone="bad">failed</Badge>}
        {step.is_skipped && <Badge tone="warn">its function was not called</Badge>}
        {ends && !step.error && step.dropped.length === 0 && <Badge>ends here</Badge>}
      </p>
      {same ? (
        <p class="note">the same record</p>
      ) : (
        <p>
          <code>{inline(step.key)}</code> <Value value={step.value} />
        </p>
      )}
      {step.error && <p class="note">{step.error}</p>}
      {step.accesses.length + step.sent.length > 0 && (
        <ul class="did">
          {step.accesses.map((access, at) => (
            <AccessLine key={at} access={access} />
          ))}
          {step.sent.map((sent, at) => (
            <SentLine key={at} sent={sent} />
          ))}
        </ul>
      )}
    </li>
  );
}

function AccessLine({ access }: { access: Access }) {
  return (
    <li>
      <span class="verb">{access.is_write ? "wrote" : "read"}</span>
      <a href={link("stores", [access.store])}>{access.store}</a>
      {access.key !== null && <code>{inline(access.key)}</code>}
      {access.window_start !== null && <span class="note">{stamp(access.window_start)}</span>}
      {access.is_write && (
        <>
          <Value value={access.before} /> <span aria-label="becomes">→</span>
        </>
      )}
      <Value value={access.value} />
      {!access.is_known && <Badge tone="warn">not known</Badge>}
    </li>
  );
}

function SentLine({ sent }: { sent: Sending }) {
  return (
    <li class="sent">
      <span class="verb">{sent.is_internal ? "passed on" : "sent"}</span>
      <b>{sent.topic}</b>
      <code>{inline(sent.key)}</code>
      <Value value={sent.value} />
    </li>
  );
}
