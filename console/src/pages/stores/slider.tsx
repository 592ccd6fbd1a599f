// The whole application as of commit n: a slider over the commits that can be looked back at.
import { clock, duration } from "../../lib/format";
import { Icon } from "../../ui/icons";
import { useNow } from "../../ui/parts";
import { chosenCommit, commits } from "../stores";

export function CommitSlider() {
  const all = commits.value;
  const now = useNow();
  const number = chosenCommit.value;
  const last = all.length - 1;
  const at = number === null ? last : all.findIndex((each) => each.number === number);
  const point = all[at];
  if (last < 1) return null;
  const choose = (place: number) => {
    const wanted = all[Math.min(Math.max(place, 0), last)]!;
    chosenCommit.value = place >= last ? null : wanted.number;
  };
  return (
    <div class={`slider ${number === null ? "" : "past"}`}>
      <button class="plain" aria-label="One commit back" onClick={() => choose(at - 1)}>
        <Icon name="left" size={16} />
      </button>
      <input
        type="range"
        min={0}
        max={last}
        value={at < 0 ? last : at}
        aria-label="Commit that is shown"
        aria-valuetext={number === null ? "the present" : `commit ${number}`}
        onInput={(event) => choose(Number(event.currentTarget.value))}
      />
      <button class="plain" aria-label="One commit on" onClick={() => choose(at + 1)}>
        <Icon name="right" size={16} />
      </button>
      <p aria-live="polite">
        {number === null || !point ? (
          <>
            <b>Now</b> <span class="note">commit {point?.number ?? "–"}</span>
          </>
        ) : (
          <>
            <b>Commit {point.number}</b>{" "}
            <span class="note">
              {clock(point.at_ms)}, {duration(now - point.at_ms)} ago
            </span>
          </>
        )}
      </p>
      {number !== null && (
        <button onClick={() => (chosenCommit.value = null)}>Back to now</button>
      )}
    </div>
  );
}
