// The graph with what flows through it. Click a node for its code, its figures and its store.
import { computed } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { draw, type Box, type Edge, type Frame, type Picture } from "../lib/graph";
import { compact, percent, whole } from "../lib/format";
import { nodeFigures, program, status, topology } from "../lib/live";
import { go, link, place } from "../lib/router";
import type { Topology } from "../lib/types";
import { Icon } from "../ui/icons";
import { Loading } from "../ui/parts";
import { NodePanel } from "./node";

interface View {
  x: number;
  y: number;
  scale: number;
}

const LEAST_SCALE = 0.15;
const MOST_SCALE = 2.5;

export function TopologyPage() {
  const shape = topology.value;
  if (!shape) return <Loading />;
  return <Drawn shape={shape} />;
}

function Drawn({ shape }: { shape: Topology }) {
  const [folded, setFolded] = useState<ReadonlySet<number>>(new Set());
  const [search, setSearch] = useState("");
  const picture = useMemo(() => draw(shape, folded), [shape, folded]);
  const chosen = place.value.parts[0];
  const selected = chosen ? picture.boxes.get(chosen) : undefined;
  const found = useMemo(() => matches(picture, search), [picture, search]);
  const camera = useCamera(picture);

  const choose = (id: string | null) => go(link("topology", id ? [id] : []), true);
  const fold = (part: number) => {
    const next = new Set(folded);
    if (!next.delete(part)) next.add(part);
    setFolded(next);
  };
  const look = (id: string) => {
    const box = picture.boxes.get(id);
    if (!box) return;
    choose(id);
    camera.show(box);
    document.getElementById(nodeId(id))?.focus();
  };

  return (
    <div class={`topology ${selected ? "with-panel" : ""}`}>
      <div class="canvas">
        <form
          class="search"
          role="search"
          onSubmit={(event) => {
            event.preventDefault();
            if (found?.[0]) look(found[0]);
          }}
        >
          <Icon name="search" size={16} />
          <input
            type="search"
            placeholder="Find a node, topic or store"
            aria-label="Find a node, topic or store"
            value={search}
            onInput={(event) => setSearch(event.currentTarget.value)}
          />
          {found && <span class="note">{found.length} found</span>}
        </form>
        <Legend />
        <div class="zoom" role="group" aria-label="Zoom">
          <button aria-label="Larger" onClick={() => camera.zoom(1.25)}>
            <Icon name="plus" size={16} />
          </button>
          <button aria-label="Smaller" onClick={() => camera.zoom(0.8)}>
            <Icon name="minus" size={16} />
          </button>
          <button aria-label="Show all" onClick={camera.fit}>
            <Icon name="fit" size={16} />
          </button>
        </div>
        <World
          picture={picture}
          camera={camera}
          fold={fold}
          look={look}
          found={found}
          selected={selected}
          choose={choose}
        />
      </div>
      {selected?.node && (
        <NodePanel
          node={selected.node}
          part={selected.part}
          title={selected.title}
          close={() => {
            choose(null);
            document.getElementById(nodeId(selected.id))?.focus();
          }}
        />
      )}
    </div>
  );
}

function matches(picture: Picture, search: string): string[] | null {
  const text = search.trim().toLowerCase();
  if (!text) return null;
  return [...picture.boxes.values()]
    .filter((box) =>
      [box.id, box.title, box.subtitle, ...(box.node?.stores ?? []), box.node?.site ?? ""].some(
        (each) => each.toLowerCase().includes(text),
      ),
    )
    .map((box) => box.id);
}

function nodeId(id: string): string {
  return `node-${id}`;
}

/** A graph without figures, such as that of a plan. */
export function Graph({ shape }: { shape: Topology }) {
  const [folded, setFolded] = useState<ReadonlySet<number>>(new Set());
  const picture = useMemo(() => draw(shape, folded), [shape, folded]);
  const camera = useCamera(picture);
  const fold = (part: number) => {
    const next = new Set(folded);
    if (!next.delete(part)) next.add(part);
    setFolded(next);
  };
  return (
    <div class="canvas small">
      <World picture={picture} camera={camera} fold={fold} look={() => undefined} />
    </div>
  );
}

interface WorldProps {
  picture: Picture;
  camera: ReturnType<typeof useCamera>;
  fold: (part: number) => void;
  look: (id: string) => void;
  found?: string[] | null;
  selected?: Box | undefined;
  choose?: (id: string) => void;
}

function World({ picture, camera, fold, look, found = null, selected, choose }: WorldProps) {
  return (
    <svg
      ref={camera.svg}
      class="graph"
      role="group"
      aria-label={`Topology with ${picture.boxes.size} nodes`}
      onKeyDown={(event) => move(event, picture, look, camera)}
      {...camera.handlers}
    >
      <g ref={camera.world}>
        {picture.frames.map((frame) => (
          <FrameShape key={frame.part} frame={frame} fold={fold} />
        ))}
        {picture.edges.map((edge) => (
          <EdgeShape key={`${edge.from} ${edge.to}`} edge={edge} />
        ))}
        {[...picture.boxes.values()].map((box, place) => (
          <NodeShape
            key={box.id}
            box={box}
            isFirst={selected ? box === selected : place === 0}
            isSelected={box === selected}
            isDimmed={found !== null && !found.includes(box.id)}
            choose={() => (box.node ? choose?.(box.id) : fold(box.part))}
          />
        ))}
      </g>
    </svg>
  );
}

/** Arrow keys walk along the edges; + and - change the size, 0 shows all. */
function move(
  event: KeyboardEvent,
  picture: Picture,
  look: (id: string) => void,
  camera: ReturnType<typeof useCamera>,
) {
  if (event.key === "+" || event.key === "=") camera.zoom(1.25);
  else if (event.key === "-") camera.zoom(0.8);
  else if (event.key === "0") camera.fit();
  const id = (event.target as Element).id.replace(/^node-/, "");
  const box = picture.boxes.get(id);
  if (!box) return;
  const beside = (step: number) => {
    const row = [...picture.boxes.values()]
      .filter((each) => Math.abs(each.y - box.y) < 30)
      .sort((a, b) => a.x - b.x);
    return row[row.indexOf(box) + step]?.id;
  };
  const target = {
    ArrowDown: box.children[0],
    ArrowUp: box.parents[0],
    ArrowRight: beside(1),
    ArrowLeft: beside(-1),
  }[event.key];
  if (target === undefined) return;
  event.preventDefault();
  look(target);
}

const FAMILIES = [
  ["reads", "reads a topic"],
  ["step", "keeps nothing"],
  ["keeps", "has a store"],
  ["writes", "writes a topic"],
] as const;

function Legend() {
  return (
    <ul class="legend" aria-hidden="true">
      {FAMILIES.map(([family, name]) => (
        <li key={family}>
          <i class={family} />
          {name}
        </li>
      ))}
      <li>
        <i class="load" />
        share of time
      </li>
    </ul>
  );
}

function FrameShape({ frame, fold }: { frame: Frame; fold: (part: number) => void }) {
  if (frame.isFolded) return null;
  const columnar = program.value?.columnar.includes(frame.part);
  const how = program.value && !frame.isGlobal ? (columnar ? "over columns" : "record by record") : "";
  return (
    <g class="frame">
      <rect x={frame.x} y={frame.y} width={frame.width} height={frame.height} rx="10" />
      <text x={frame.x + 12} y={frame.y + 17}>
        {frame.isGlobal ? "global store" : `sub-topology ${frame.part}`}
        {how && <tspan class={columnar ? "columns" : "records"}> · {how}</tspan>}
      </text>
      {frame.nodes > 1 && (
        <g
          class="fold"
          role="button"
          tabindex={0}
          aria-label={`Fold up sub-topology ${frame.part}`}
          transform={`translate(${frame.x + frame.width - 24} ${frame.y + 5})`}
          onClick={() => fold(frame.part)}
          onKeyDown={(event) => event.key === "Enter" && fold(frame.part)}
        >
          <rect width="18" height="16" rx="4" />
          <path d="M5 8h8" />
        </g>
      )}
    </g>
  );
}

const LOG_10 = Math.log(10);

function EdgeShape({ edge }: { edge: Edge }) {
  const width = useMemo(
    () =>
      computed(() => {
        const rate = nodeFigures.value.get(edge.from)?.rate ?? 0;
        return (1.2 + (rate > 0 ? Math.min(Math.log(1 + rate) / LOG_10, 6) * 0.55 : 0)).toFixed(1);
      }),
    [edge],
  );
  return (
    <path
      class={`edge ${edge.kind}`}
      d={edge.path}
      stroke-width={edge.kind === "lookup" ? undefined : width}
    />
  );
}

interface NodeProps {
  box: Box;
  isFirst: boolean;
  isSelected: boolean;
  isDimmed: boolean;
  choose: () => void;
}

function NodeShape({ box, isFirst, isSelected, isDimmed, choose }: NodeProps) {
  // Signals go straight into the text: nothing is drawn again when figures change.
  const figures = useMemo(() => figuresOf(box), [box]);
  const classes = ["node", box.family, isSelected && "selected", isDimmed && "dimmed"];
  return (
    <g
      id={nodeId(box.id)}
      class={classes.filter(Boolean).join(" ")}
      transform={`translate(${box.x} ${box.y})`}
      role="button"
      tabindex={isFirst ? 0 : -1}
      aria-label={figures.says}
      aria-pressed={isSelected}
      onClick={choose}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose();
      }}
    >
      <rect class="body" width={box.width} height={box.height} rx={box.family === "step" ? 7 : 12} />
      <rect class="load" x="1" y={box.height - 4} height="3" width={figures.load} rx="1.5" />
      <text class="title" x="14" y="20">
        {fitted(box.title, box.width - 26, 7.1)}
      </text>
      <text class="subtitle" x="14" y="38">
        {fitted(box.subtitle, box.width - 86, 6.2)}
      </text>
      <text class="rate" x={box.width - 12} y="38">
        {figures.rate}
      </text>
      <text class="drops" x={box.width - 10} y="-4">
        {figures.drops}
      </text>
    </g>
  );
}


function figuresOf(box: Box) {
  const own = computed(() => nodeFigures.value.get(box.id));
  const lag = computed(() => {
    const topics = box.family === "source" ? (box.node?.topics ?? []) : [];
    let waits = 0;
    for (const topic of topics)
      for (const count of Object.values(status.value?.lag.topics[topic] ?? {})) waits += count;
    return waits;
  });
  const rate = computed(() => {
    const known = own.value;
    if (box.family === "source" && lag.value > 0) return `${compact(lag.value)} wait`;
    return known && (known.records > 0 || known.rate > 0) ? `${compact(known.rate)}/s` : "";
  });
  return {
    rate,
    load: computed(() => Math.max((box.width - 2) * Math.min(own.value?.share ?? 0, 1), 0)),
    drops: computed(() => {
      const count = Object.values(own.value?.dropped ?? {}).reduce((sum, each) => sum + each, 0);
      return count ? `${compact(count)} dropped` : "";
    }),
    says: computed(() => {
      const known = own.value;
      const parts = [box.title, box.subtitle];
      if (known) parts.push(`${whole(known.rate)} records a second`, `${percent(known.share)} of time`);
      if (lag.value) parts.push(`${whole(lag.value)} records wait`);
      return parts.filter(Boolean).join(", ");
    }),
  };
}

function fitted(text: string, width: number, char: number): string {
  const most = Math.floor(width / char);
  return text.length <= most ? text : `${text.slice(0, Math.max(most - 1, 1))}…`;
}

/** Pan and zoom by mouse, touch and keys, without drawing the graph again. */
function useCamera(picture: Picture) {
  const svg = useRef<SVGSVGElement>(null);
  const world = useRef<SVGGElement>(null);
  const view = useRef<View>({ x: 0, y: 0, scale: 1 });
  const moved = useRef(false);
  const pointers = useRef(new Map<number, { x: number; y: number }>());

  const apply = () => {
    const { x, y, scale } = view.current;
    world.current?.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
  };
  const zoomAt = (factor: number, x: number, y: number) => {
    const before = view.current;
    const scale = Math.min(Math.max(before.scale * factor, LEAST_SCALE), MOST_SCALE);
    const ratio = scale / before.scale;
    view.current = { scale, x: x - (x - before.x) * ratio, y: y - (y - before.y) * ratio };
    moved.current = true;
    apply();
  };
  const fit = () => {
    const area = svg.current?.getBoundingClientRect();
    if (!area || !area.width) return;
    const scale = Math.min(
      Math.max(
        Math.min((area.width - 32) / picture.width, (area.height - 88) / picture.height),
        LEAST_SCALE,
      ),
      1.15,
    );
    view.current = {
      scale,
      x: (area.width - picture.width * scale) / 2,
      y: Math.max((area.height - picture.height * scale) / 2, 56),
    };
    moved.current = false;
    apply();
  };
  const show = (box: Box) => {
    const area = svg.current?.getBoundingClientRect();
    if (!area) return;
    const { scale } = view.current;
    const [x, y] = [box.x * scale + view.current.x, box.y * scale + view.current.y];
    const isSeen =
      x > 0 && y > 40 && x + box.width * scale < area.width && y + box.height * scale < area.height;
    if (isSeen) return;
    view.current = {
      scale: Math.max(scale, 0.6),
      x: area.width / 2 - (box.x + box.width / 2) * Math.max(scale, 0.6),
      y: area.height / 2 - (box.y + box.height / 2) * Math.max(scale, 0.6),
    };
    moved.current = true;
    apply();
  };

  useEffect(() => {
    if (moved.current) apply();
    else fit();
  }, [picture]);
  useEffect(() => {
    const element = svg.current!;
    const watch = new ResizeObserver(() => !moved.current && fit());
    watch.observe(element);
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const area = element.getBoundingClientRect();
      const speed = event.deltaMode === 1 ? 0.05 : 0.0016;
      zoomAt(Math.exp(-event.deltaY * speed), event.clientX - area.left, event.clientY - area.top);
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => {
      watch.disconnect();
      element.removeEventListener("wheel", wheel);
    };
  }, [picture]);

  const down = (event: PointerEvent) => {
    pointers.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
  };
  const drag = (event: PointerEvent) => {
    const before = pointers.current.get(event.pointerId);
    if (!before) return;
    const others = [...pointers.current].filter(([id]) => id !== event.pointerId);
    pointers.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
    const other = others[0]?.[1];
    if (other) {
      const area = svg.current!.getBoundingClientRect();
      const was = Math.hypot(before.x - other.x, before.y - other.y);
      const is = Math.hypot(event.clientX - other.x, event.clientY - other.y);
      if (was > 0)
        zoomAt(
          is / was,
          (event.clientX + other.x) / 2 - area.left,
          (event.clientY + other.y) / 2 - area.top,
        );
      return;
    }
    view.current.x += event.clientX - before.x;
    view.current.y += event.clientY - before.y;
    moved.current = true;
    apply();
  };
  const up = (event: PointerEvent) => pointers.current.delete(event.pointerId);

  return {
    svg,
    world,
    fit,
    show,
    zoom: (factor: number) => {
      const area = svg.current?.getBoundingClientRect();
      if (area) zoomAt(factor, area.width / 2, area.height / 2);
    },
    handlers: {
      onPointerDown: down,
      onPointerMove: drag,
      onPointerUp: up,
      onPointerLeave: up,
      onPointerCancel: up,
    },
  };
}
