// Builds the console into the Python package. The same sources always give the same bytes.
//
//   npm ci && npm run build          --out DIR writes elsewhere, --watch builds at every change
import * as esbuild from "esbuild";
import { cp, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const given = process.argv.indexOf("--out");
const out =
  given > 0
    ? resolve(process.argv[given + 1])
    : join(here, "..", "src", "penstock", "serving", "console", "static");

const options = {
  absWorkingDir: here,
  entryPoints: { app: "src/main.tsx" },
  outdir: out,
  bundle: true,
  splitting: true,
  format: "esm",
  target: ["es2022", "chrome111", "firefox115", "safari16.4"],
  minify: true,
  metafile: true,
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  chunkNames: "[name]-[hash]",
  charset: "utf8",
  logLevel: "warning",
  define: { "process.env.NODE_ENV": '"production"' },
};

/** The notices of everything that is part of the bundle: their licences ask for them. */
async function notices(metafile) {
  const names = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (found) names.add(found[1]);
  }
  const texts = [];
  for (const name of [...names].sort()) {
    const folder = join(here, "node_modules", name);
    const about = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const file = (await readdir(folder)).find((each) => /^licen[cs]e/i.test(each));
    const licence = file ? await readFile(join(folder, file), "utf8") : `${about.license}\n`;
    texts.push(`${name} ${about.version} (${about.license})\n\n${licence.trim()}\n`);
  }
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}

async function finish(result) {
  for (const name of ["index.html", "icon.svg"]) await cp(join(here, "src", name), join(out, name));
  await writeFile(join(out, "notices.txt"), await notices(result.metafile));
}

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
if (process.argv.includes("--watch")) {
  const plugin = { name: "finish", setup: (build) => build.onEnd(finish) };
  const context = await esbuild.context({ ...options, plugins: [plugin] });
  await context.watch();
} else {
  await finish(await esbuild.build(options));
}
