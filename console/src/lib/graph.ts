// The picture of a topology: what is drawn where. Figures are put in later, and move nothing.
import { Graph, layout } from "@dagrejs/dagre";
import type { SubTopology, Topology, TopologyNode } from "./types";

export type Family = "source" | "sink" | "state" | "step";

export interface Box {
  id: string;
  /** The node; null for a sub-topology that is folded up. */
  node: TopologyNode | null;
  part: number;
  family: Family;
  title: string;
  subtitle: string;
  x: number;
  y: number;
  width: number;
  height: number;
  parents: string[];
  children: string[];
}

/** Records go from node to node, or through a topic; a lookup reads what another node has stored. */
export type EdgeKind = "flow" | "topic" | "lookup";

export interface Edge {
  from: string;
  to: string;
  path: string;
  kind: EdgeKind;
}

export interface Frame {
  part: number;
  isGlobal: boolean;
  nodes: number;
  x: number;
  y: number;
  width: number;
  height: number;
  isFolded: boolean;
}

export interface Picture {
  boxes: Map<string, Box>;
  edges: Edge[];
  frames: Frame[];
  width: number;
  height: number;
}

const GENERATED = /^K(STREAM|TABLE)-[A-Z-]+-\d{10}|^KSTREAM|^KTABLE|-\d{10}$/;
const FRAME_HEAD = 26;
const CHAR = 7.1;

export function draw(topology: Topology, folded: ReadonlySet<number>): Picture {
  const graph = new Graph({ compound: true, multigraph: false });
  graph.setGraph({ rankdir: "TB", nodesep: 22, ranksep: 34, marginx: 16, marginy: 16 });
  graph.setDefaultEdgeLabel(() => ({}));
  const boxes = new Map<string, Box>();
  const home = new Map<string, string>();
  for (const part of topology.subtopologies) {
    const made = folded.has(part.id) ? [foldedBox(part)] : part.nodes.map((n) => box(n, part.id));
    for (const each of made) boxes.set(each.id, each);
    for (const node of part.nodes) home.set(node.name, folded.has(part.id) ? made[0]!.id : node.name);
    if (!folded.has(part.id)) graph.setNode(frameId(part.id), {});
    for (const each of made) {
      graph.setNode(each.id, { width: each.width, height: each.height });
      if (!folded.has(part.id)) graph.setParent(each.id, frameId(part.id));
    }
  }
  const kinds = connect(topology, home, graph, boxes);
  layout(graph);
  place(graph, boxes);
  const frames = topology.subtopologies.map((part) =>
    frame(part, graph, boxes, folded.has(part.id)),
  );
  const edges = graph.edges().map((edge): Edge => {
    const { points } = graph.edge(edge) as { points: Spot[] };
    const [from, to] = [boxes.get(edge.v)!, boxes.get(edge.w)!];
    const kind = kinds.get(`${edge.v}\n${edge.w}`) ?? "flow";
    return { from: edge.v, to: edge.w, path: path(from, to, points), kind };
  });
  const size = graph.graph() as { width?: number; height?: number };
  const right = Math.max(0, ...frames.map((each) => each.x + each.width));
  const bottom = Math.max(0, ...frames.map((each) => each.y + each.height));
  return {
    boxes,
    edges,
    frames,
    width: Math.max(size.width ?? 0, right + 16),
    height: Math.max(size.height ?? 0, bottom + 16),
  };
}

function connect(
  topology: Topology,
  home: Map<string, string>,
  graph: Graph,
  boxes: Map<string, Box>,
): Map<string, EdgeKind> {
  const kinds = new Map<string, EdgeKind>();
  const writers = new Map<string, string[]>();
  const all = topology.subtopologies.flatMap((part) => part.nodes);
  for (const node of all)
    if (typeof node.topic === "string" && is(node, "sink"))
      writers.set(node.topic, [...(writers.get(node.topic) ?? []), node.name]);
  const add = (from: string, to: string, kind: EdgeKind) => {
    const [a, b] = [home.get(from), home.get(to)];
    if (!a || !b || a === b || graph.hasEdge(a, b) || graph.hasEdge(b, a)) return;
    kinds.set(`${a}\n${b}`, kind);
    graph.setEdge(a, b, kind === "topic" ? { minlen: 2 } : kind === "lookup" ? { weight: 0.2 } : {});
    boxes.get(a)!.children.push(b);
    boxes.get(b)!.parents.push(a);
  };
  for (const node of all) {
    for (const parent of node.parents) add(parent, node.name, "flow");
    for (const topic of node.topics ?? [])
      for (const writer of writers.get(topic) ?? []) add(writer, node.name, "topic");
  }
  const keepers = new Map(all.map((node) => [String(node["store"] ?? ""), node.name]));
  for (const node of all)
    for (const value of Object.values(node))
      if (typeof value === "string" && value !== node.name)
        add(home.has(value) ? value : (keepers.get(value) ?? ""), node.name, "lookup");
  return kinds;
}

interface Spot {
  x: number;
  y: number;
}

function place(graph: Graph, boxes: Map<string, Box>) {
  for (const [id, made] of boxes) {
    const { x, y } = graph.node(id) as { x: number; y: number };
    made.x = x - made.width / 2;
    made.y = y - made.height / 2;
  }
}

function frame(
  part: SubTopology,
  graph: Graph,
  boxes: Map<string, Box>,
  isFolded: boolean,
): Frame {
  const own = [...boxes.values()].filter((each) => each.part === part.id);
  const common = { part: part.id, isGlobal: part.is_global, nodes: part.nodes.length, isFolded };
  const left = Math.min(...own.map((each) => each.x));
  const top = Math.min(...own.map((each) => each.y));
  const right = Math.max(...own.map((each) => each.x + each.width));
  const bottom = Math.max(...own.map((each) => each.y + each.height));
  const pad = isFolded ? 0 : 14;
  void graph;
  return {
    ...common,
    x: left - pad,
    y: top - pad - (isFolded ? 0 : FRAME_HEAD - 8),
    width: right - left + 2 * pad,
    height: bottom - top + 2 * pad + (isFolded ? 0 : FRAME_HEAD - 8),
  };
}

function frameId(part: number): string {
  return `\u0000frame-${part}`;
}

function foldedBox(part: SubTopology): Box {
  const title = `Sub-topology ${part.id}`;
  const subtitle = `${part.nodes.length} nodes, folded up`;
  return {
    ...blank(`\u0000part-${part.id}`, part.id, title, subtitle),
    node: null,
    family: "step",
    height: 58,
  };
}

function box(node: TopologyNode, part: number): Box {
  const [title, subtitle] = label(node);
  return { ...blank(node.name, part, title, subtitle), node, family: family(node) };
}

function blank(id: string, part: number, title: string, subtitle: string) {
  const longest = Math.max(title.length * CHAR, subtitle.length * (CHAR - 0.9) + 60);
  return {
    id,
    part,
    title,
    subtitle,
    x: 0,
    y: 0,
    width: Math.round(Math.min(Math.max(longest + 30, 168), 264)),
    height: 54,
    parents: [] as string[],
    children: [] as string[],
  };
}

export function is(node: TopologyNode, kind: string): boolean {
  return node.kind.split("/")[0] === kind;
}

export function family(node: TopologyNode): Family {
  if (is(node, "source")) return "source";
  if (is(node, "sink")) return "sink";
  return node.stores.length > 0 ? "state" : "step";
}

/** What a node does in plain words, and what tells it from others of its kind. */
export function label(node: TopologyNode): [string, string] {
  const kind = node.kind.split("/")[0]!.replaceAll("-", " ");
  const named = GENERATED.test(node.name) ? "" : node.name;
  if (is(node, "source")) return [(node.topics ?? []).join(", ") || "a pattern of topics", "reads"];
  if (is(node, "sink")) return [node.topic ?? "a topic chosen by record", "writes"];
  const counts = JSON.stringify(node["initializer"] ?? "").includes("count_start");
  const title = counts ? kind.replace(/aggregate$/, "count") : kind;
  return [title, named || node.stores.join(", ") || (node.site ?? "")];
}

/** A smooth line from the foot of a box to the head of another, by the way the layout has chosen. */
function path(from: Box, to: Box, points: Spot[]): string {
  const start = { x: from.x + from.width / 2, y: from.y + from.height };
  const end = { x: to.x + to.width / 2, y: to.y };
  let text = `M${at(start)}`;
  let before = start;
  for (const spot of [...points.slice(1, -1).filter(between(start, end)), end]) {
    const middle = (before.y + spot.y) / 2;
    text += `C${at({ x: before.x, y: middle })} ${at({ x: spot.x, y: middle })} ${at(spot)}`;
    before = spot;
  }
  return text;
}

/** Of a short edge only the ends count; in between, a long one has to go around other boxes. */
function between(start: Spot, end: Spot) {
  return (spot: Spot) => end.y - start.y > 90 && spot.y > start.y + 25 && spot.y < end.y - 25;
}

function at({ x, y }: Spot): string {
  return `${x.toFixed(1)} ${y.toFixed(1)}`;
}
