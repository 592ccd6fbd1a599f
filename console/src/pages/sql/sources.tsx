// Streams and tables with their columns, beside the editor.
import { useState } from "preact/hooks";
import type { Source } from "../../lib/sql";
import { Icon } from "../../ui/icons";
import { Empty } from "../../ui/parts";

export function SourceList(props: { sources: Source[]; insert: (text: string) => void }) {
  const { sources, insert } = props;
  return (
    <aside class="source-list" aria-label="Streams and tables">
      {sources.length === 0 && <Empty>No streams or tables yet.</Empty>}
      <ul>
        {sources.map((source) => (
          <OneSource key={source.name} source={source} insert={insert} />
        ))}
      </ul>
    </aside>
  );
}

function OneSource({ source, insert }: { source: Source; insert: (text: string) => void }) {
  const [open, setOpen] = useState(false);
  const isTable = source.type === "TABLE";
  return (
    <li>
      <button class="plain" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={open ? "down" : "right"} size={13} />
        <b>{source.name}</b>
        <span class="note">{isTable ? "table" : "stream"}</span>
      </button>
      {open && (
        <div>
          <ul class="columns">
            {source.fields.map((field) => (
              <li key={field.name}>
                <code>{field.name}</code>
                <span class="note">
                  {field.schema.type.toLowerCase()}
                  {field.type === "KEY" ? ", key" : ""}
                </span>
              </li>
            ))}
          </ul>
          <p class="note">
            topic {source.topic}, {source.valueFormat.toLowerCase()}
          </p>
          <p class="links">
            <button class="link" onClick={() => insert(`SELECT * FROM ${source.name} EMIT CHANGES;`)}>
              follow
            </button>
            {isTable && (
              <button class="link" onClick={() => insert(`SELECT * FROM ${source.name};`)}>
                read
              </button>
            )}
            <button
              class="link"
              onClick={() => insert(`PRINT '${source.topic}' FROM BEGINNING LIMIT 20;`)}
            >
              print
            </button>
          </p>
        </div>
      )}
    </li>
  );
}
